"""What the tables made from results files are put together from: cells, columns, Markdown."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ctxzoo.results.result import VECTORS_CONTENT, RunResult

NOTHING = "–"
NOT_RUN = "not run yet"
TO_PUBLISH = " --results_dir results"  # where tables read


def format_mean_and_deviation(values: Iterable[float | None], decimals: int = 2) -> str:
    """Write ``mean ± sd`` (sample deviation), the bare value of a single run, a dash if a value is missing."""
    all_values = list(values)
    numbers = [value for value in all_values if value is not None]
    if not numbers or len(numbers) < len(all_values):
        return NOTHING
    mean = f"{statistics.fmean(numbers):.{decimals}f}"
    return mean if len(numbers) == 1 else f"{mean} ± {statistics.stdev(numbers):.{decimals}f}"


def add_plus_sign(number: str) -> str:
    """Return a number's text with "+" in front if it has no sign; a dash stays."""
    return number if number[0] in f"-{NOTHING}" else f"+{number}"


def format_mean_difference(runs: Iterable[RunResult], baseline_runs: Iterable[RunResult], metric: str) -> str:
    """Return how much better than the baseline's runs the runs score, by equal seeds and folds; a dash if there are
    none.
    """
    baseline_scores = {(run.seed, run.fold): run.metrics[metric] for run in baseline_runs}
    differences = [
        run.metrics[metric] - baseline_scores[run.seed, run.fold]
        for run in runs
        if (run.seed, run.fold) in baseline_scores
    ]
    return add_plus_sign(f"{statistics.fmean(differences):.2f}") if differences else NOTHING


def format_setting_changes(pairs: Mapping[str, tuple[RunResult, RunResult]]) -> str:
    """Write `` (name value, …; for COLUMN: name value, …)``: the settings of a run that its baseline run does not have.

    Args:
        pairs: Run and its baseline run for each column of the row; settings that all columns share come first.
    """
    changes_by_column = {
        column: _list_setting_changes(run, baseline_run) for column, (run, baseline_run) in pairs.items()
    }
    shared = [
        note
        for note in next(iter(changes_by_column.values()), [])
        if all(note in notes for notes in changes_by_column.values())
    ]
    columns: dict[str, list[str]] = {}
    for column, notes in changes_by_column.items():
        if column_notes := [note for note in notes if note not in shared]:
            columns.setdefault(", ".join(column_notes), []).append(column)
    parts = [", ".join(shared)] if shared else []
    parts += [f"for {', '.join(members)}: {text}" for text, members in columns.items()]
    return f" ({'; '.join(parts)})" if parts else ""


def _list_setting_changes(run: RunResult, baseline_run: RunResult) -> list[str]:
    """Return the settings that differ from the baseline run's, each as text; word vectors by name, not by content.

    A setting that the version of one of them did not have yet counts where it is switched on.
    """
    keys = sorted({**run.settings, **baseline_run.settings}.keys() - {VECTORS_CONTENT})
    changed = [key for key in keys if (run.settings.get(key) or None) != (baseline_run.settings.get(key) or None)]
    return [f"{key} {json.dumps(run.settings.get(key))}" for key in changed]


def refuse_runs_of_different_settings(runs: Sequence[RunResult]) -> None:
    """Raise an error if runs to be averaged differ in more than seed and fold.

    Raises:
        ValueError: settings or data differ.
    """
    for run in runs[1:]:
        names = [
            key for key in {**runs[0].settings, **run.settings} if run.settings.get(key) != runs[0].settings.get(key)
        ]
        if VECTORS_CONTENT in names and not (VECTORS_CONTENT in run.settings and VECTORS_CONTENT in runs[0].settings):
            names.remove(VECTORS_CONTENT)  # earlier results lack it
        if run.data["fingerprint"] != runs[0].data["fingerprint"]:
            names.append("data")
        if names:
            raise ValueError(
                f"results of {run.recipe}, {run.variant}, tag {run.tag!r} on {run.dataset} were not made alike: seed"
                f" {run.seed}, fold {run.fold} differs from seed {runs[0].seed}, fold {runs[0].fold} in"
                f" {', '.join(names)}; the recipe's --resume runs again what has other settings"
            )


def refuse_repeated_runs(runs: Sequence[RunResult]) -> None:
    """Raise an error if a run stands twice among those to be averaged.

    Raises:
        ValueError: two runs have the same seed and fold.
    """
    runs_made = [(run.seed, run.fold) for run in runs]
    if len(set(runs_made)) < len(runs_made):
        twice = next(made for made in runs_made if runs_made.count(made) > 1)
        raise ValueError(
            f"two results for {runs[0].variant} on {runs[0].dataset} with seed {twice[0]}, fold {twice[1]} and the same"
            " settings; keep one of the files"
        )


def format_markdown_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], left_aligned: int = 1, bar: str = r"\|"
) -> str:
    """Return a Markdown table, its short rows filled with empty cells.

    Args:
        headings: Headings of the columns, from left to right.
        rows: Cells of each row, at most one for each column.
        left_aligned: Number of first columns that are aligned left; the others are aligned right.
        bar: Text that replaces "|" in cells.
    """
    lines = [headings, ["---"] * left_aligned + ["---:"] * (len(headings) - left_aligned)]
    lines += [[*row, *[""] * (len(headings) - len(row))] for row in rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', bar) for cell in line)} |" for line in lines)


def append_commands(table: str, commands: Sequence[str]) -> str:
    """Return a table followed by the shell commands, if any, whose results would be added to it."""
    lines = [f"{line}{TO_PUBLISH}" if line.startswith("python recipes/") else line for line in commands]
    return "\n".join([table, "", "```bash", *lines, "```"]) if lines else table


def format_commands_not_run(commands: Sequence[str]) -> list[str]:
    """Return commands for `append_commands` below a comment that they are not run yet; no lines for no commands."""
    return [f"# {NOT_RUN}", *commands] if commands else []


@dataclass(frozen=True)
class Column:
    """A column of a results table: its heading and what it shows of the runs of one row (never none)."""

    heading: str
    show: Callable[[Sequence[RunResult]], str]


def format_trial_rows(runs: Sequence[RunResult], columns: Sequence[Column]) -> list[list[str]]:
    """Return a table row for each run: its settings that differ between the runs, then the columns' cells."""
    differing_settings = _format_differing_settings(runs)
    return [
        [settings, *(column.show([run]) for column in columns)]
        for run, settings in zip(runs, differing_settings, strict=True)
    ]


def _format_differing_settings(runs: Sequence[RunResult]) -> list[str]:
    """Return for each run, as text, the settings in which the runs differ."""
    names = sorted({name for run in runs for name in run.settings})
    varied = [name for name in names if len({json.dumps(run.settings.get(name)) for run in runs}) > 1]
    return [", ".join(f"{name} {run.settings[name]}" for name in varied if name in run.settings) for run in runs]


def _format_epochs(runs: Sequence[RunResult]) -> str:
    """Return how many epochs runs trained, as one number or a range."""
    epochs = [run.metrics.get("epochs", run.settings.get("epochs")) for run in runs]
    numbers = [f"{value:g}" for value in sorted(value for value in epochs if value is not None)] or [NOTHING]
    return numbers[0] if numbers[0] == numbers[-1] else f"{numbers[0]}–{numbers[-1]}"


def format_wall_minutes(runs: Sequence[RunResult]) -> str:
    """Return the mean wall time of runs in minutes, separately for each GPU: ``49, H200: 6.2``."""
    by_device: dict[str, list[float]] = {}
    for run in sorted(runs, key=_format_gpu_names):
        by_device.setdefault(_format_gpu_names(run), []).append(run.wall_seconds / 60)
    return ", ".join(
        f"{gpus}: {_format_mean_minutes(minutes)}" if gpus else _format_mean_minutes(minutes)
        for gpus, minutes in by_device.items()
    )


def _format_gpu_names(run: RunResult) -> str:
    """Return the names of a run's GPUs, joined by " + "."""
    return " + ".join(name.removeprefix("NVIDIA ") for name in run.hardware.get("gpus", []))


def _format_mean_minutes(minutes: Sequence[float]) -> str:
    """Return the mean of some minutes as text, with one decimal below 10."""
    mean = statistics.fmean(minutes)
    if mean < 0.1:
        return "< 0.1"
    return f"{mean:.1f}" if mean < 10 else f"{mean:.0f}"


PARAMETERS_COLUMN = Column("trainable parameters", lambda runs: f"{runs[0].parameters['trainable']:,}")
RUN_COLUMNS = (
    Column("seeds", lambda runs: str(len({run.seed for run in runs}))),
    Column("epochs", _format_epochs),
    Column("minutes", format_wall_minutes),
)


def find_best_epoch(run: RunResult, score: str, *, higher: bool) -> float | None:
    """Return the epoch with the best validation score, from 1; None if a run has no scores by epoch.

    Args:
        run: Results of a training.
        score: Name of the score without the split.
        higher: Whether higher scores are better.
    """
    ends = f"/{score}"
    by_epoch = {
        int(key.removeprefix("validation/epoch").removesuffix(ends)): value if higher else -value
        for key, value in run.metrics.items()
        if key.startswith("validation/epoch") and key.endswith(ends)
    }
    return max(by_epoch, key=lambda epoch: by_epoch[epoch]) if by_epoch else None


def make_best_epoch_column(score: str, *, higher: bool) -> Column:
    """Return the column of the epoch with the best validation score, see `find_best_epoch`."""
    return Column(
        "best epoch",
        lambda runs: format_mean_and_deviation([find_best_epoch(run, score, higher=higher) for run in runs], 0),
    )


def make_seconds_column(decimals: int = 0) -> Column:
    """Return the column of the wall time of an epoch; a dash if a run does not say how many it trained."""
    return Column(
        "seconds an epoch", lambda runs: format_mean_and_deviation(map(_compute_seconds_per_epoch, runs), decimals)
    )


def _compute_seconds_per_epoch(run: RunResult) -> float | None:
    """Return the seconds that an epoch of a run took; None if it counts no epochs."""
    epochs = run.metrics.get("epochs")
    return run.wall_seconds / epochs if epochs else None
