"""The table of recipes: the data of each, how to get it, and what a run takes and gives."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ctxzoo.catalogue.entries import ENTRIES
from ctxzoo.results.result import VECTORS_CONTENT, RunResult
from ctxzoo.results.table_parts import NOTHING, markdown_table, mean_and_deviation, minutes

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
FURTHER = ("init_from", "finish_source", "levers")
ACCURACY = Score("test/accuracy", "accuracy")
# Recipe, or recipe and dataset -> the score that is shown of it; accuracy of all others.
SCORES: dict[str | tuple[str, str], Score] = {
    **dict.fromkeys(("squad_bidaf", "squad_sliding_window", "small_reader"), Score("test/f1", "F1")),
    **dict.fromkeys(
        ("wikipedia_attention_cbow", "ptb_beta_lstm", "ptb_floors"),
        Score("test/perplexity", "perplexity", higher=False),
    ),
    **dict.fromkeys(("music_beta_lstm", "music_floors"), Score("test/nll", "nats of a step", higher=False)),
    **dict.fromkeys(
        ("citeulike_hcrnn", "session_baselines", "session_floors"), Score("test/recall_at_20", "recall@20")
    ),
    "regression_ika": Score("test/rmse", "RMSE", higher=False),
    "badges_lste": Score("test/recall_at_1", "recall@1"),
    **dict.fromkeys(
        ("roll_call_nipen", "roll_call_floors"), Score("test/log_likelihood", "log-likelihood", decimals=4)
    ),
    "music_gates": Score("test/layer1/correlation", "correlation of the gates, layer 1"),
    ("embedding_evaluation", "ctxzoo-data/ptb_sample"): Score("all/pos_tags/v_measure_median", "V-measure"),
    ("embedding_evaluation", "ctxzoo-data/word_similarity"): Score("test/men3000/spearman", "Spearman, MEN"),
    ("embedding_evaluation", "ctxzoo-data/word_analogy"): Score("test/all/accuracy", "accuracy"),
}


def recipes(results: Sequence[RunResult]) -> str:
    """Return a row for each recipe and dataset of the catalogue, sorted; dashes where no run is published."""
    pairs = {(recipe, entry.name) for entry in ENTRIES.values() for recipe in entry.uses}
    pairs |= {(run.recipe, run.dataset) for run in results if run.dataset in ENTRIES}
    return markdown_table(HEADINGS, [_row(recipe, dataset, results) for recipe, dataset in sorted(pairs)], left=4)


def _row(recipe: str, dataset: str, results: Sequence[RunResult]) -> list[str]:
    score = SCORES.get((recipe, dataset), SCORES.get(recipe, ACCURACY))
    start = [f"`recipes/{recipe}.py`", f"`{dataset}`", f"`ctxzoo data get {dataset.rpartition('/')[2]}`"]
    rows = _shown_rows([run for run in results if (run.recipe, run.dataset) == (recipe, dataset)], score)
    if not rows:
        return [*start, *[NOTHING] * 5]
    runs = [run for row in rows for run in row]
    label = ", ".join(part for part in (runs[0].variant, runs[0].tag) if part)
    scores = [[run.metrics[score.metric] for run in row] for row in rows]
    means = [f"{mean:.{score.decimals}f}" for mean in sorted(map(statistics.fmean, scores))]
    shown = mean_and_deviation(scores[0], score.decimals) if len(rows) == 1 else f"{means[0]} to {means[-1]}"
    return [
        *start,
        label if len(rows) == 1 else f"{len(rows)} rows",
        str(len(runs)),
        minutes(runs),
        f"{max(run.peak_memory_mb for run in runs):,.0f}",
        f"{score.name} {shown}",
    ]


def _shown_rows(runs: Sequence[RunResult], score: Score) -> list[list[RunResult]]:
    """Return the rows that are shown: of those with the settings of the defaults, where there are any, those of the
    most epochs, and of these the ones with the most runs; of several the one that is best on validation, where they
    have it, and else all.
    """
    rows: dict[tuple[str, ...], list[RunResult]] = defaultdict(list)
    for run in runs:
        if score.metric in run.metrics:
            rows[run.tag, run.variant, _settings(run), run.data["fingerprint"]].append(run)
    rows = {key: found for key, found in rows.items() if _of_defaults(found[0])} or rows
    sizes = {key: (found[0].settings.get("epochs") or 0, len(found)) for key, found in rows.items()}
    largest = [rows[key] for key in sorted(rows) if sizes[key] == max(sizes.values())]
    chosen_by = score.metric.replace("test/", "validation/")
    if not largest or any(chosen_by not in run.metrics for found in largest for run in found):
        return largest
    sign = 1 if score.higher else -1
    return [max(largest, key=lambda found: sign * statistics.fmean(run.metrics[chosen_by] for run in found))]


def _of_defaults(run: RunResult) -> bool:
    return run.tag in DEFAULTS and not any(run.settings.get(name) for name in FURTHER)


def _settings(run: RunResult) -> str:
    """Return the settings as text; runs that differ in them are of different rows, even where they have one tag."""
    named = {name: value for name, value in run.settings.items() if name != VECTORS_CONTENT}  # earlier results lack it
    # Word vectors that a run was given bear the seed of their own training in their name.
    return json.dumps(named, sort_keys=True).replace(f"-seed{run.seed}-", "-seed-")


TABLES = {"recipes": recipes}
