"""`CountedRun`: a baseline that is counted in a moment, from its settings to a results file."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ctxzoo.results.result import RESULTS_DIR, write_result_file
from ctxzoo.runs.run import Run
from ctxzoo.runs.spec import RunSpec

ARCHITECTURE = "counts"


@dataclass(frozen=True, kw_only=True)
class CountedRun(Run):
    """Counts in `train`, scored on `score`; a subclass says what is counted.

    Attributes:
        data_class: the DataModule.
        recipe, seed, commit, score, tag, output_dir, results_dir: see `RunSpec`; nothing is drawn.
        variant: what is counted.
        data: arguments of the DataModule, `dataset` among them.
        named: how the results name the dataset; empty: as `data` does.
        init_from: Checkpoint that says what is known, as the results name it; empty: the training rows do.
    """

    data_class: ClassVar[Any]

    recipe: str
    variant: str
    commit: str
    seed: int = 0
    data: dict[str, Any] = field(default_factory=dict)
    named: str = ""
    init_from: str = ""
    score: str = "test"
    tag: str = ""
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR

    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Return what the results file reports as settings."""

    @abstractmethod
    def count(self, data: Any) -> tuple[int, Callable[[str], dict[str, float]]]:
        """Count in the training rows.

        Args:
            data: after `setup`.

        Returns:
            How many numbers the baseline holds, and a function from the name of a split to its scores.
        """

    @property
    def spec(self) -> RunSpec:
        return RunSpec(
            recipe=self.recipe,
            architecture=ARCHITECTURE,
            variant=self.variant,
            dataset=self.named or self.data["dataset"],
            seed=self.seed,
            commit=self.commit,
            settings={**self.settings(), **({"init_from": self.init_from} if self.init_from else {})},
            score=self.score,
            tag=self.tag,
            output_dir=self.output_dir,
            results_dir=self.results_dir,
        )

    def work(self, *, resume: bool) -> None:
        data = self.data_class(**self.data)
        data.setup()
        data.split_dataloader(self.score)  # where there is no such split, an error now
        started = time.perf_counter()
        numbers, scores_of = self.count(data)
        seconds = time.perf_counter() - started
        result = self.spec.result(
            metrics={f"{self.score}/{name}": value for name, value in scores_of(self.score).items()},
            parameters={"trainable": numbers, "total": numbers},
            fingerprint=data.fingerprint,
            seconds=seconds,
        )
        write_result_file(result, self.spec.results_file)
