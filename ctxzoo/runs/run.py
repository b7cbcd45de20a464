"""`Run`: work that leaves a results file, and how it is carried out, alone in its folder and only once."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ctxzoo.data.files import check_writable
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.results.result import RunResult, read_result
from ctxzoo.runs.spec import RunSpec
from ctxzoo.training.run_folder import LOCK, lock_run, telling_of_full_disk

LOG = "log.txt"


class Run(ABC):
    """One training, fit or evaluation; other processes get it as a pickle.

    Attributes:
        card: Card of the problem.
    """

    card: ClassVar[TaskCard]

    if TYPE_CHECKING:  # a field of some, a property of others

        @property
        def spec(self) -> RunSpec:
            """The identity of the run."""

    @abstractmethod
    def work(self, *, resume: bool) -> None:
        """Do the work, and write the results file when all else is there.

        Args:
            resume: Go on where the run stopped before.
        """

    def quiet(self) -> Run:
        """Return the run with no progress bar of its own, which would fill a log."""
        return self


def execute(run: Run, *, resume: bool = False, quiet: bool = False) -> RunResult:
    """Do the work of a run, unless it is done, and return its results.

    Args:
        run: What to do.
        resume: Return the results of a finished run with the same settings; go on where an unfinished one stopped.
        quiet: What would be printed goes to log.txt in the folder of the run, without progress bars.

    Raises:
        OSError: the folders cannot be written, or another process works on the run, before anything is done; the disk
            is full.
        ValueError, TrainingInterrupted: see the kind of run.
    """
    spec = run.spec
    done = spec.finished() if resume else None
    if done is not None:
        return done
    check_writable(spec.folder)
    check_writable(Path(spec.results_dir), "--results_dir")
    with (
        telling_of_full_disk(spec.folder),
        lock_run(spec.folder / LOCK, "--output_dir"),
        _printing_to(spec.folder / LOG if quiet else None),
    ):
        (run.quiet() if quiet else run).work(resume=resume)
    return read_result(spec.results_file)


@contextlib.contextmanager
def _printing_to(log: Path | None) -> Iterator[None]:
    if log is None:
        yield
        return
    with log.open("a", encoding="utf-8") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        yield
