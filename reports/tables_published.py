"""The table of published checkpoints (docs/results): what each does, its score, its size, and how it is loaded."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence

from ctxzoo.hub.card_facts import DATASET_FACTS
from ctxzoo.hub.published import PublishedCheckpoint
from ctxzoo.results.intervals import compute_score_interval
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import NOTHING, format_markdown_table, format_mean_and_deviation
from reports.choice import find_best_row
from reports.labels import read_labels

HEADINGS = ("checkpoint", "task", "data", "score", "95 % interval", "beside the tables' rows", "MB", "load")
SCORES, NAMES = (read_labels("published")[name] for name in ("scores", "metrics"))
LOWER_IS_BETTER = ("nll",)  # of those that tell the strongest row
DECIMALS = {"log_likelihood": 4}  # as many as tell models apart; of the others two
TO_ROOT = "../../"  # from the page of the table, docs/results/checkpoints.md
SAME = ("recipe", "architecture", "dataset", "split")  # of all runs of a row, and so are:
CONFIGURATION = ("config_name", "configuration")  # settings that name the part of a dataset
SEVERAL = 3  # runs; the mean of fewer is no row to compare with


def make_checkpoint_table(results: Sequence[RunResult], published: Sequence[PublishedCheckpoint]) -> str:
    """Return the Markdown table of published checkpoints, sorted by name."""
    rows = []
    for row in published:
        run, folder = row.result, row.folder.as_posix()
        load = f'ctxzoo.pipeline("{folder}")'
        scores = [
            f"{NAMES.get(metric, metric)} {run.metrics[f'{run.split}/{metric}']:.{DECIMALS.get(metric, 2)}f}"
            for metric in SCORES[row.task]
        ]
        rows.append(
            [
                *(f"[{row.folder.name}]({TO_ROOT}{folder}/README.md)", row.task, f"`{run.dataset}`", ", ".join(scores)),
                *(format_interval(run, row.task), compare_with_best(run, results, row.task)),
                *(f"{row.size / 1e6:.1f}", f"`{load}`"),
            ]
        )
    return format_markdown_table(HEADINGS, rows, left_aligned=3)


def format_interval(run: RunResult, task: str) -> str:
    """Return the confidence interval of a run's accuracy in percent; a dash for scores that are no accuracy."""
    metric = "exact" if task == "question-answering" else "accuracy"
    facts = DATASET_FACTS.get(run.dataset)
    interval = compute_score_interval(run, metric, None if facts is None else facts.test_rows)
    if interval is None or task == "token-classification":
        return NOTHING
    low, high, rows = interval
    note = f", over {rows}" if rows.endswith("articles") else ""
    return f"{NAMES.get(metric, metric)} {low:.1f} to {high:.1f}{note}"


def compare_with_best(run: RunResult, results: Sequence[RunResult], task: str) -> str:
    """Return in words whether a run has the strongest settings among the results on its data.

    The strongest is chosen by `chosen_by`. A row is a variant and tag with several runs of one recipe on the same
    configuration of the data. Perplexities of other vocabularies do not compare: there the row of the variant with the
    most weights is named.
    """
    key = f"{run.split}/{SCORES[task][0]}"
    rows: dict[tuple[str, str], list[RunResult]] = defaultdict(list)
    for result in results:
        same = all(getattr(result, name) == getattr(run, name) for name in SAME)
        same &= all(result.settings.get(name) == run.settings.get(name) for name in CONFIGURATION)
        if same and key in result.metrics:
            rows[result.variant, result.tag].append(result)
    rows = {name: runs for name, runs in rows.items() if len(runs) >= SEVERAL}
    if task == "fill-mask":
        rows = {name: runs for name, runs in rows.items() if name[0] == run.variant}
    if not rows:
        return NOTHING
    if task == "fill-mask":
        # Of equally many the one with the shorter tag: a study adds to the tag of the row that it is a study of.
        name = max(rows, key=lambda name: (rows[name][0].parameters["total"], -len(name[1])))
        note = f"{rows[name][0].parameters['total'] / 1e6:.1f}M weights"
    else:
        lower = SCORES[task][0] in LOWER_IS_BETTER
        name = find_best_row(rows, key, lower=lower)
        scores = [result.metrics[key] for result in rows[name]]
        note, gain = format_mean_and_deviation(scores), run.metrics[key] - statistics.fmean(scores)
        if name != (run.variant, run.tag) and (gain < 0 if lower else gain > 0):
            return f"above the mean of {', '.join(filter(None, name))}: {note}"
    if name == (run.variant, run.tag):
        return f"one of the strongest row: {note}"
    return f"not of the strongest row, {', '.join(filter(None, name))}: {note}"


CHECKPOINT_TABLES: dict[str, Callable[..., str]] = {"checkpoints": make_checkpoint_table}
