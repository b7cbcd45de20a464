"""The table of recipes: the data of each, how to get it, and what a run takes and gives."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ctxzoo.catalogue.entries import ENTRIES
from ctxzoo.results.result import VECTORS_CONTENT, RunResult
from ctxzoo.results.table_parts import NOTHING, format_markdown_table, format_mean_and_deviation, format_wall_minutes
from reports.choice import choose_score, find_best_row
from reports.labels import read_labels

HEADINGS = ("recipe", "data", "get it", "row", "runs", "minutes", "MB of memory", "score")


@dataclass(frozen=True)
class Score:
    """What is shown of runs: the metric, its name, and which direction is better."""

    metric: str
    name: str
    higher: bool = True
    decimals: int = 2


# Names of runs with the settings of the defaults; "start": BiDAF's since w_cq begins narrower; of a set with several
# parts the default one.
DEFAULTS = ("", "start", "airline")
# Settings of runs that the defaults do not make: on from the checkpoint of another run, or with options switched on.
FURTHER = ("init_from", "finish_source", "extensions")
SCORES = {name: Score(**score) for name, score in read_labels("recipes").items()}


def make_recipe_table(results: Sequence[RunResult]) -> str:
    """Return the Markdown table of recipes and datasets; dashes where no run is published."""
    pairs = {(recipe, entry.name) for entry in ENTRIES.values() for recipe in entry.uses}
    pairs |= {(run.recipe, run.dataset) for run in results if run.dataset in ENTRIES}
    return format_markdown_table(
        HEADINGS, [_write_row(recipe, dataset, results) for recipe, dataset in sorted(pairs)], left_aligned=4
    )


def _write_row(recipe: str, dataset: str, results: Sequence[RunResult]) -> list[str]:
    """Return the cells of a recipe on a dataset: how to get the data, settings, runs, minutes, memory and score."""
    score = SCORES.get(f"{recipe} {dataset}", SCORES.get(recipe, Score("test/accuracy", "accuracy")))
    start = [f"`recipes/{recipe}.py`", f"`{dataset}`", f"`ctxzoo data get {dataset.rpartition('/')[2]}`"]
    rows = _select_shown_rows([run for run in results if (run.recipe, run.dataset) == (recipe, dataset)], score)
    if not rows:
        return [*start, *[NOTHING] * 5]
    runs = [run for row in rows for run in row]
    label = ", ".join(part for part in (runs[0].variant, runs[0].tag) if part)
    scores = [[run.metrics[score.metric] for run in row] for row in rows]
    means = [f"{mean:.{score.decimals}f}" for mean in sorted(map(statistics.fmean, scores))]
    text = format_mean_and_deviation(scores[0], score.decimals) if len(rows) == 1 else f"{means[0]} to {means[-1]}"
    memory = f"{max(run.peak_memory_mb for run in runs):,.0f}"
    label = label if len(rows) == 1 else f"{len(rows)} rows"
    return [*start, label, str(len(runs)), format_wall_minutes(runs), memory, f"{score.name} {text}"]


def _select_shown_rows(runs: Sequence[RunResult], score: Score) -> list[list[RunResult]]:
    """Return the runs of each table row that is shown for a recipe on a dataset.

    Rows with default settings go first, if there are any, then those of the most epochs, then those with the most runs.
    Of several that remain the best on validation is shown, or all where they have no validation score.
    """
    rows: dict[tuple[str, ...], list[RunResult]] = defaultdict(list)
    for run in runs:
        if score.metric in run.metrics:
            # Earlier results lack the vectors' content; the vectors' name bears the seed of their own training.
            settings = {name: value for name, value in run.settings.items() if name != VECTORS_CONTENT}
            text = json.dumps(settings, sort_keys=True).replace(f"-seed{run.seed}-", "-seed-")
            rows[run.tag, run.variant, text, run.data["fingerprint"]].append(run)
    rows = {
        key: group
        for key, group in rows.items()
        if group[0].tag in DEFAULTS and not any(group[0].settings.get(name) for name in FURTHER)
    } or rows
    sizes = {key: (group[0].settings.get("epochs") or 0, len(group)) for key, group in rows.items()}
    largest = {key: rows[key] for key in sorted(rows) if sizes[key] == max(sizes.values())}
    tested = score.metric.startswith("test/")  # and not on all rows
    if not largest or (tested and choose_score(largest.values(), score.metric) == score.metric):
        return list(largest.values())
    return [largest[find_best_row(largest, score.metric, lower=not score.higher)]]


TABLES = {"recipes": make_recipe_table}
