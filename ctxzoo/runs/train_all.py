"""Many trainings of one recipe: side by side, and what is printed of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ctxzoo.hub.task_card import loading_lines
from ctxzoo.runs.many import Outcomes, print_outcomes, run_folds
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import TrainingRun


def train_all(
    runs: Mapping[str, Sequence[TrainingRun]],
    title: str,
    *,
    resume: bool,
    processes: int,
    threads: int = 1,
    progress: bool = True,
) -> Outcomes:
    """Train the runs of every row, print the table, and say where the checkpoints are and how one is loaded.

    Args:
        runs: name of a row of the printed table to its runs.
        title: of the table.
        resume: see `execute`.
        processes, threads, progress: see `run_folds`.

    Raises:
        OSError, ValueError, TrainingInterrupted: see `run_folds` and `execute`.
    """
    work = partial(execute, resume=resume, quiet=True)
    outcomes = run_folds(runs, work, processes=processes, threads=threads, progress=progress)
    print_outcomes(outcomes, title, next(run.card for members in runs.values() for run in members))
    _print_checkpoints([run for members in runs.values() for run in members])
    return outcomes


def _print_checkpoints(runs: Sequence[TrainingRun]) -> None:
    """Those that are there; results of a run that was resumed may have come without."""
    there = [run for run in runs if run.spec.checkpoint.is_dir()]
    for run in there:
        print(f"checkpoint {run.spec.checkpoint}")
    if there:
        print("\n".join(loading_lines(there[0].spec.checkpoint, there[0].card)))
