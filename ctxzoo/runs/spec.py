"""`RunSpec`: what tells one run from every other, and the names that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ctxzoo.data.reading_notes import current_notes
from ctxzoo.results.environment import command_line, hardware, peak_memory_mb, public_name, versions
from ctxzoo.results.result import RESULTS_DIR, RunResult, finished_result, path_of_parts, result_path


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """The identity of a run, in values that can be sent to another process.

    Attributes:
        recipe, architecture, variant, seed, fold, commit: Arguments of `RunResult`.
        dataset: Hub id, folder, file or "sample"; None: of several, which the name of the file leaves out.
        settings: What decides the result, as the results file tells it.
        defaults: Values of settings that a results file lacks.
        implied: Values that follow from the others, which results of earlier versions told too.
        score: The split that the results file reports: test, or validation to choose settings, and then test is not
            scored.
        tag: What the names of folder and results file say beside variant, data, seed and fold.
        content: Name of the rows, last in these names, so that other rows of the same name do not take their place.
        output_dir, results_dir: Where to write.
        folder_name: Folder name of the folder of checkpoints, logs and pictures; default: the name of the results file.
    """

    recipe: str
    architecture: str
    variant: str
    dataset: str | None
    seed: int
    commit: str
    settings: Mapping[str, Any]
    fold: int | None = None
    score: str = "test"
    tag: str = ""
    content: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    implied: Mapping[str, Any] = field(default_factory=dict)
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR
    folder_name: str | None = None

    @property
    def results_file(self) -> Path:
        """The results file that the finished run leaves."""
        named = "-".join(part for part in (self.tag, self.content) if part)
        if self.dataset is None:
            return path_of_parts(self.results_dir, self.recipe, (self.variant, f"seed{self.seed}", named))
        return result_path(
            self.results_dir,
            recipe=self.recipe,
            variant=self.variant,
            dataset=public_name(self.dataset),
            split=self.score,
            seed=self.seed,
            fold=self.fold,
            tag=named,
        )

    @property
    def folder(self) -> Path:
        """The folder of checkpoints, logs and pictures."""
        return Path(self.output_dir) / self.recipe / (self.folder_name or self.results_file.stem)

    @property
    def checkpoint(self) -> Path:
        """The folder of the finished model."""
        return self.folder / "checkpoint"

    def finished(self) -> RunResult | None:
        """Return the results of the run, if they are there and are those of its settings; raises as `read_result`."""
        return finished_result(self.results_file, self.settings, self.defaults, self.implied)

    def result(
        self,
        *,
        metrics: Mapping[str, float],
        parameters: Mapping[str, int],
        fingerprint: str,
        seconds: float,
        dataset: str | None = None,
        split: str | None = None,
        per_example: Mapping[str, Sequence[float]] | None = None,
    ) -> RunResult:
        """Return the content of the results file.

        Args:
            metrics, parameters: Arguments of `RunResult`.
            fingerprint: Fingerprint of the content of the data.
            seconds: Duration of the run.
            dataset, split: Where the spec names none.
            per_example: Argument of `RunResult`; None: none are kept.

        Raises:
            ValueError: there is no dataset.
        """
        named = dataset if self.dataset is None else self.dataset
        if named is None:
            raise ValueError(f"{self.results_file.name} names no dataset; give the one that was scored")
        source = public_name(named)
        return RunResult(
            recipe=self.recipe,
            architecture=self.architecture,
            variant=self.variant,
            dataset=source,
            split=split or self.score,
            fold=self.fold,
            seed=self.seed,
            metrics=dict(metrics),
            settings=dict(self.settings),
            parameters=dict(parameters),
            command=command_line(),
            commit=self.commit,
            data={"source": source, "fingerprint": fingerprint},
            hardware=hardware(),
            versions=versions(),
            wall_seconds=seconds,
            peak_memory_mb=peak_memory_mb(),
            tag=self.tag,
            per_example={name: list(values) for name, values in (per_example or {}).items()},
            reading=current_notes().counts(),
        )
