"""`Run`: work that leaves a results file, and how it is carried out, alone in its folder and only once."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ctxzoo.data.files import check_folder_is_writable
from ctxzoo.data.reading_notes import get_reading_notes
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.results.environment import (
    describe_hardware,
    format_command_line,
    get_library_versions,
    measure_peak_memory_mb,
    strip_local_path,
)
from ctxzoo.results.result import RunResult, build_result_path, read_result, read_result_of_settings
from ctxzoo.runs.experiment import Experiment
from ctxzoo.training.libraries import silence_lightning
from ctxzoo.training.run_folder import LOCK, lock_run_files, raise_full_disk_errors

LOG = "log.txt"


class Run(ABC):
    """One training, fit or evaluation, and the names that follow from its experiment; processes get it as a pickle.

    Attributes:
        card: Description of the problem: its metrics, and how model cards show it.
        reads: Names of the settings of its experiment that decide the result; None: all of them.
    """

    card: ClassVar[TaskCard]
    reads: ClassVar[tuple[str, ...] | None] = None

    if TYPE_CHECKING:  # a field of some, a property of others

        @property
        def experiment(self) -> Experiment:
            """The experiment, which identifies the run."""

    @property
    def variant(self) -> str:
        """Name of the model in results."""
        return self.experiment.model.row or self.experiment.model.variant

    @property
    def dataset(self) -> str:
        """Name of the data in the results file: a Hub id, folder, file or "sample"."""
        return self.experiment.data.named or self.experiment.data.dataset

    @property
    def split(self) -> str:
        """Name of the split that the results file reports."""
        return self.experiment.score

    @property
    def file_name_part(self) -> str:
        """Part of the names of results files, such as a configuration of the dataset; empty: none."""
        return self.experiment.data.file_name_part

    @property
    def tag(self) -> str:
        """Part of the names of results files behind variant, dataset, seed and fold."""
        return "-".join(part for part in (self.file_name_part, self.experiment.tag) if part)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that decide the result, as the results file holds them."""
        return self._select_settings(self.experiment.settings())

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of each setting, for result files that lack the setting."""
        return self._select_settings(self.experiment.class_defaults())

    def _select_settings(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return those of the values that decide the result, by the names in `reads`."""
        reads = values if self.reads is None else self.reads
        return {name: values[name] for name in reads if name in values}

    @property
    def implied_values(self) -> dict[str, Any]:
        """The settings that older result files also hold, though they follow from others."""
        return {}

    @property
    def results_file(self) -> Path:
        """The results file that the finished run leaves."""
        experiment = self.experiment
        return build_result_path(
            experiment.run.results_dir,
            recipe=experiment.recipe,
            variant=self.variant,
            dataset=strip_local_path(self.dataset),
            split=self.split,
            seed=experiment.seed,
            fold=experiment.fold,
            tag="-".join(part for part in (self.tag, experiment.run.format_rows_part(experiment.data.rows)) if part),
        )

    @property
    def folder(self) -> Path:
        """The folder of checkpoints, logs and pictures."""
        return Path(self.experiment.run.output_dir) / self.experiment.recipe / self.results_file.stem

    @property
    def checkpoint(self) -> Path:
        """The folder of the finished model."""
        return self.folder / "checkpoint"

    def read_finished_result(self) -> RunResult | None:
        """Return the result of the run if it is finished with the same settings, else None."""
        return read_result_of_settings(self.results_file, self.settings, self.defaults, self.implied_values)

    def build_result(
        self,
        *,
        metrics: Mapping[str, float],
        parameters: Mapping[str, int],
        fingerprint: str,
        seconds: float,
        dataset: str | None = None,
        split: str | None = None,
        per_example: Mapping[str, Sequence[float]] | None = None,
        labels: Mapping[str, dict[str, Any]] | None = None,
    ) -> RunResult:
        """Build the content of the results file.

        Args:
            metrics, parameters: Metric values by name, such as "test/accuracy", and numbers of trainable and total
                parameters.
            fingerprint: Hash of the content of the data.
            seconds: Wall-clock duration of the run in seconds.
            dataset, split: Names of the dataset and split that were scored; None: those of the run.
            per_example: Values for every scored example, by name, which the results file keeps for paired tests; None:
                none.
            labels: Scores of each label of a classifier, by split, as in `RunResult`; None: none.
        """
        experiment, source = self.experiment, strip_local_path(dataset or self.dataset)
        return RunResult(
            recipe=experiment.recipe,
            architecture=experiment.model.architecture,
            variant=self.variant,
            dataset=source,
            split=split or self.split,
            fold=experiment.fold,
            seed=experiment.seed,
            metrics=dict(metrics),
            settings=self.settings,
            parameters=dict(parameters),
            command=format_command_line(),
            commit=experiment.commit,
            data={"source": source, "fingerprint": fingerprint},
            hardware=describe_hardware(),
            versions=get_library_versions(),
            wall_seconds=seconds,
            peak_memory_mb=measure_peak_memory_mb(),
            tag=self.tag,
            per_example={name: list(values) for name, values in (per_example or {}).items()},
            reading=get_reading_notes().counts(),
            labels=dict(labels or {}),
        )

    @abstractmethod
    def work(self, *, resume: bool) -> None:
        """Do the work of the run and write the result file last.

        Args:
            resume: Whether an interrupted run continues where it stopped.
        """

    def copy_without_progress_bar(self) -> Run:
        """Return a copy of the run without a progress bar, which would fill a log."""
        return self


def execute(run: Run, *, resume: bool = False, quiet: bool = False) -> RunResult:
    """Do the work of a run, unless its result file is there already, and return the result.

    Args:
        run: Run to carry out.
        resume: Whether a finished run with the same settings is returned as it is, and an interrupted one continues.
        quiet: Whether output goes to log.txt in the folder of the run, without progress bars, instead of the terminal.

    Raises:
        OSError: the folders cannot be written, or another process works on the run, before anything is done; the disk
            is full.
        ValueError, TrainingInterrupted: see the kind of run.
    """
    done = run.read_finished_result() if resume else None
    if done is not None:
        return done
    folder, file = run.folder, run.results_file
    check_folder_is_writable(folder)
    check_folder_is_writable(Path(run.experiment.run.results_dir), "--results_dir")
    with (
        raise_full_disk_errors(folder),
        lock_run_files(folder / LOCK, "--output_dir"),
        _redirect_output(folder / LOG if quiet else None),
    ):
        (run.copy_without_progress_bar() if quiet else run).work(resume=resume)
    return read_result(file)


@contextlib.contextmanager
def _redirect_output(log: Path | None) -> Iterator[None]:
    """Append what is printed in this context to a log file; None leaves the output as it is."""
    if log is None:
        yield
        return
    silence_lightning()  # its handler keeps the terminal
    with log.open("a", encoding="utf-8") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        yield
