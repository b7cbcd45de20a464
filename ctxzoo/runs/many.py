"""What recipes of many runs share: options, runs side by side, the printed table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ctxzoo.data.files import path_exists
from ctxzoo.hub.task_card import TaskCard, format_loading_snippet
from ctxzoo.results.comparison import are_scored_on_same_folds, format_difference_cell
from ctxzoo.results.printing import print_table_with_title
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import format_mean_and_deviation
from ctxzoo.runs.experiment import Experiment, RunArgs
from ctxzoo.runs.processes import run_in_processes
from ctxzoo.runs.run import Run, execute

Outcomes = dict[str, list[RunResult]]


AnyRun = TypeVar("AnyRun", bound=Run)


def run_in_parallel(
    runs: Mapping[str, Sequence[AnyRun]],
    work: Callable[[AnyRun], RunResult],
    *,
    processes: int,
    threads: int = 1,
    progress: bool = True,
) -> Outcomes:
    """Execute the runs of a table in parallel processes, and return the results of each row.

    Args:
        runs: Runs of each row of the printed table, by the name of the row.
        work: Function that executes one run and returns its results; it must be picklable: a module's function or a
            partial of one.
        processes: Number of runs that execute at the same time; 0: one for each core.
        threads: Number of CPU threads of each process.
        progress: Whether a progress bar is shown.

    Raises:
        ValueError: two runs would write the same results file.
    """
    row_of: dict[str, str] = {}  # by results file
    for name, members in runs.items():
        for run in members:
            file = str(run.results_file)
            if file in row_of:
                raise ValueError(f"{row_of[file]!r} and {name!r} would both write {file}; give them names of their own")
            row_of[file] = name
    jobs = [run for members in runs.values() for run in members]
    outcomes: Outcomes = {name: [] for name in runs}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not progress) as progress_bar:
        bar = progress_bar.add_task("runs", total=len(jobs))
        for run, result in run_in_processes(work, jobs, processes or os.cpu_count() or 1, threads):
            name = row_of[str(run.results_file)]
            outcomes[name].append(result)
            progress_bar.advance(bar)
            score = result.metrics[f"{result.split}/{run.card.headline[0]}"]
            fold = "" if run.experiment.fold is None else f", fold {run.experiment.fold}"
            progress_bar.console.print(f"{name}, seed {run.experiment.seed}{fold}: {score:.2f}", highlight=False)
    return outcomes


def print_outcomes(outcomes: Outcomes, title: str, card: TaskCard) -> None:
    """Print a table with a row for each model and its main scores.

    Rows on the same folds of the same data are compared with the first of them.
    """
    firsts = [_find_first_comparable_row(results, outcomes) for results in outcomes.values()]
    compared = any(first is not results for first, results in zip(firsts, outcomes.values(), strict=True))
    scores = [card.metrics[name].name for name in card.headline]
    headings = ["model", *scores, "parameters", "runs", *["difference"] * compared]
    caption = "difference: to the first row on the same folds, with p of a paired test" if compared else None
    table = Table(caption=caption)
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "model" else "right")
    for first, (name, results) in zip(firsts, outcomes.items(), strict=True):
        split = results[0].split
        difference = "" if first is results else format_difference_cell(results, first, f"{split}/{card.headline[0]}")
        table.add_row(
            name,
            *(format_mean_and_deviation([one.metrics[f"{split}/{key}"] for one in results]) for key in card.headline),
            f"{results[0].parameters['trainable']:,}",
            str(len(results)),
            *[difference] * compared,
        )
    print_table_with_title(title, table)


def run_rows(
    kind: Callable[[Experiment], Run],
    rows: Iterable[tuple[str, Experiment]],
    seeds: Sequence[int],
    title: str,
    folds: Sequence[int | None] = (None,),
) -> Outcomes:
    """Run every row of a table with every seed and on every fold, and print the table.

    Args:
        kind: Class or function that turns an experiment into a run.
        rows: Pairs of a row's name in the printed table and its experiment; at least one.
        seeds: Seeds of all random draws; each gives a run of its own.
        title: Heading printed above the table.
        folds: Numbers of the cross-validation folds to run; (None,): no cross-validation.

    Raises:
        OSError, ValueError, TrainingInterrupted: see `run_all`; two rows of one name.
    """
    row_list = list(rows)
    runs = {
        name: [kind(one.copy_with(seed=seed, fold=fold)) for seed in seeds for fold in folds] for name, one in row_list
    }
    if len(runs) < len(row_list):
        raise ValueError(f"rows must have names of their own, got {[name for name, _ in row_list]}")
    return run_all(runs, title, row_list[0][1].run)


def run_all(runs: Mapping[str, Sequence[Run]], title: str, settings: RunArgs) -> Outcomes:
    """Execute the runs of a table, and print the scores and how to load a checkpoint.

    Args:
        runs: Runs of each row of the printed table, by the name of the row.
        title: Heading printed above the table.
        settings: Settings of execution, of which `resume`, `processes`, `threads` and `progress` count.

    Raises:
        OSError, ValueError, TrainingInterrupted: see `run_in_parallel` and `execute`.
    """
    work = partial(execute, resume=settings.resume, quiet=True)
    threads = settings.threads or 1
    outcomes = run_in_parallel(runs, work, processes=settings.processes, threads=threads, progress=settings.progress)
    members = [run for row in runs.values() for run in row]
    print_outcomes(outcomes, title, members[0].card)
    _print_checkpoints(members)
    return outcomes


def _print_checkpoints(runs: Sequence[Run]) -> None:
    """Print the folders of the runs' checkpoints, those that exist."""
    finished_runs = [run for run in runs if path_exists(run.checkpoint)]
    for run in finished_runs:
        print(f"checkpoint {run.checkpoint}")
    if finished_runs:
        print("\n".join(format_loading_snippet(finished_runs[0].checkpoint, finished_runs[0].card)))


def _find_first_comparable_row(results: list[RunResult], outcomes: Outcomes) -> list[RunResult]:
    """Return the first row that was scored on the same folds of the same data, to compare with; else the row itself."""
    return next(
        (other for other in outcomes.values() if other is results or are_scored_on_same_folds(results, other)), results
    )
