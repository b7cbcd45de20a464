"""LAMA: its tables, made from results files, and the numbers of its paper.

A cell is the mean and sample standard deviation over seeds. Differences are tested over seeds.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ctxzoo.results.result import RunResult
from ctxzoo.results.seed_comparison import seeds_cell
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    changed_settings,
    markdown_table,
    mean_and_deviation,
    mean_difference,
    refuse_mixtures,
    refuse_repeats,
    signed,
    with_commands,
)

RECIPE, LINEAR_RECIPE = "document_lama", "document_linear"
ENSEMBLE_RECIPE = "document_ensemble"
BERT_RECIPE, BERT = "document_bert", "bert-base-uncased"
ACCURACY, DEV_ACCURACY = "test/accuracy", "validation/accuracy"
SEEDS = 3  # that a row needs
PAPERS = "the paper's"  # settings
Runs = list[RunResult]


@dataclass(frozen=True)
class Data:
    """A column: the dataset's id, the part of tags that no other of the id has, and its name in the recipe."""

    heading: str
    dataset: str
    name: str
    part: str = ""


REUTERS = Data("Reuters", "ctxzoo-data/reuters8", "reuters8")
IMDB = Data("IMDB", "stanfordnlp/imdb", "imdb")
# Of the paper's Yelp and News there are no copies: ours stand in columns of their own.
OTHERS = (
    Data("Yelp, our sample", "Yelp/yelp_review_full", "yelp"),
    Data("Yelp-L, our sample", "Yelp/yelp_review_full", "yelp_long", "long"),
    Data("News headlines", "ctxzoo-data/news_aggregator", "news_aggregator"),
)
COLUMNS = (REUTERS, IMDB, *OTHERS)
# The same reviews, with validation documents in blocks of neighbours: settings for IMDB are chosen by these.
IMDB_BLOCKS = Data("IMDB, blocks", IMDB.dataset, "imdb_blocks", "blocks")
CHOSEN_BY = {REUTERS: REUTERS, IMDB: IMDB_BLOCKS}
ABLATION_DATA = (REUTERS, IMDB, IMDB_BLOCKS)
ABLATION_MODELS = ("lama_ctx", "lama", "single_head")

# Mehta et al. (2019), Table 3: test accuracy on Reuters and IMDB.
PAPER = {
    "san": (94.2, 83.1),
    "bigru": (86.7, 87.6),
    "cnn": (96.0, 87.4),
    "te": (97.3, 81.7),
    "lama": (96.5, 89.5),
    "lama_ctx": (97.3, 90.0),
    "avg": (79.5, 87.4),
}
PAPER_BERT = (97.8, 89.4)
MODELS = {
    "lama": "LAMA",
    "lama_ctx": "LAMA+ctx",
    "san": "SAN",
    "single_head": "one head (3.8)",
    "bigru": "BiGRU",
    "cnn": "CNN",
    "te": "Transformer encoder",
    "avg": "mean of words",
}
FOREMOST = "lama"  # which is compared with the others, where both have the paper's settings
ONLY_COMPARABLE = ("single_head", "te")  # rows that the other columns do not have
LINEAR = {
    "words_svm": "TF-IDF of words and pairs, SVM",
    "bigram_nblr": "words and pairs, NB-weighted logistic regression",
    "words_svm_tuned": "TF-IDF of words and pairs, SVM, C chosen",
    "bigram_nblr_tuned": "words and pairs, NB-weighted logistic regression, C chosen",
}


def documents(results: Runs) -> str:
    """The paper's Table 3: its numbers beside ours where the data are the same."""
    headings = ["model"]
    for data in COLUMNS:
        headings += [f"{data.heading}, the paper", data.heading] if data in (REUTERS, IMDB) else [data.heading]
    rows, missing = [], []
    for variant, label in MODELS.items():
        row = [label]
        for column, data in enumerate(COLUMNS):
            if data in (REUTERS, IMDB):
                row.append(f"{PAPER[variant][column]:.1f}" if variant in PAPER else NOTHING)
            runs = runs_of(results, RECIPE, variant, data)
            needed = data in (REUTERS, IMDB) or variant not in ONLY_COMPARABLE
            row.append(_score(runs) if runs or needed else NOTHING)
            if needed and len(runs) < SEEDS:
                missing.append(data.name)
        rows.append(row)
    for variant in ABLATION_MODELS:
        strongest = {
            column: _score(runs) for column, data in CHOSEN_BY.items() if (runs := _strongest(results, variant, data))
        }
        if strongest:
            cells = [strongest.get(data, NOTHING) for data in COLUMNS]
            label = f"{MODELS[variant]}, strongest settings of each set"
            index = 1 + [row[0] for row in rows].index(MODELS[variant])
            rows.insert(index, [label, NOTHING, cells[0], NOTHING, *cells[1:]])
    ours = [runs_of(results, RECIPE, FOREMOST, data) for data in COLUMNS]
    for variant in MODELS:
        base = [runs_of(results, RECIPE, variant, data) for data in COLUMNS]
        if variant != FOREMOST and any(first and second for first, second in zip(ours, base, strict=True)):
            cells = [seeds_cell(first, second, ACCURACY) for first, second in zip(ours, base, strict=True)]
            label = f"{MODELS[FOREMOST]} − {MODELS[variant]} (p over seeds)"
            rows.append([label, NOTHING, cells[0], NOTHING, *cells[1:]])
    # Its weights come from the Hub: where there are no runs, none are requested.
    bert = [runs_of(results, BERT_RECIPE, BERT, data) for data in COLUMNS]
    cells = [_score(runs) if runs else NOTHING for runs in bert]
    rows.append(["BERT", f"{PAPER_BERT[0]:.1f}", cells[0], f"{PAPER_BERT[1]:.1f}", *cells[1:]])
    commands = [
        f"python recipes/{RECIPE}.py --dataset {name} --seeds 0 1 2 --resume" for name in dict.fromkeys(missing)
    ]
    without_bar = False
    for variant, label in LINEAR.items():
        bars = [runs_of(results, LINEAR_RECIPE, variant, data) for data in COLUMNS]
        cells = [mean_and_deviation([run.metrics[ACCURACY] for run in runs]) if runs else NOT_RUN for runs in bars]
        rows.append([label, NOTHING, cells[0], NOTHING, *cells[1:]])
        without_bar |= not all(bars)
    commands += [f"python recipes/{LINEAR_RECIPE}.py --resume"] if without_bar else []
    return with_commands(markdown_table(headings, rows), [f"# {NOT_RUN}", *commands] if commands else [])


def ablation(results: Runs) -> str:
    """Return each option by its accuracy on validation; that on test is not shown: settings are chosen by this.

    A mean of several seeds' probabilities stands below their row.
    """
    headings = [
        "settings",
        *(heading for data in ABLATION_DATA for heading in (data.heading, f"{data.heading}, difference")),
    ]
    return markdown_table(headings, [row for variant in ABLATION_MODELS for row in _ablation_of(results, variant)])


def _ablation_of(results: Runs, variant: str) -> list[list[str]]:
    """The rows of one model, whose name they begin with unless it is the first."""
    model = "" if variant == ABLATION_MODELS[0] else f"{MODELS[variant]}: "
    options = {data: _by_name(results, variant, data) for data in ABLATION_DATA}
    base = {data: found.get("", []) for data, found in options.items()}
    rows = [[f"{model}{PAPERS}", *(cell for runs in base.values() for cell in (_score(runs, DEV_ACCURACY), NOTHING))]]
    rows += _together(results, base, variant, "")
    for name in sorted({name for found in options.values() for name in found} - {""}):
        found = {data: by_name.get(name, []) for data, by_name in options.items()}
        pairs = {data.heading: (runs[0], base[data][0]) for data, runs in found.items() if runs and base[data]}
        cells = []
        for data, runs in found.items():
            cells += [_score(runs, DEV_ACCURACY) if runs else NOTHING, mean_difference(runs, base[data], DEV_ACCURACY)]
        rows.append([f"{model}{name}{changed_settings(pairs)}", *cells])
        rows += _together(results, base, variant, name)
    return rows


TABLES: dict[str, Callable[[Runs], str]] = {"lama-documents": documents, "lama-climb": ablation}


def runs_of(results: Sequence[RunResult], recipe: str, variant: str, data: Data, name: str = "") -> Runs:
    """The seeds of one cell, without trials of a few batches.

    Raises:
        ValueError: a seed twice, or seeds that were not made alike.
    """
    found = _named(results, recipe, variant, data, name)
    refuse_mixtures(found)
    return found


def _named(results: Sequence[RunResult], recipe: str, variant: str, data: Data, name: str) -> Runs:
    found = [
        run
        for run in results
        if (run.recipe, run.variant) == (recipe, variant) and _name(run, data) == name and not run.settings.get("tiny")
    ]
    refuse_repeats(found)
    return found


def _name(run: RunResult, data: Data) -> str | None:
    """Return the part of a run's tag for settings other than the paper's; None for a run on other data."""
    if run.dataset != data.dataset:
        return None
    parts = {other.part for other in (*COLUMNS, *ABLATION_DATA) if other.dataset == data.dataset} - {""}
    part, _, name = run.tag.partition("-")
    if part not in parts:
        part, name = "", run.tag
    return name if part == data.part else None


def _score(runs: Runs, metric: str = ACCURACY) -> str:
    if not runs:
        return NOT_RUN
    shown = mean_and_deviation([run.metrics.get(metric) for run in runs])
    return shown if len(runs) >= SEEDS else f"{shown} ({len(runs)} of {SEEDS} seeds)"


def _by_name(results: Runs, variant: str, data: Data) -> dict[str, Runs]:
    """The runs of a model with a validation accuracy, by the name of their settings."""
    ours = [run for run in results if (run.recipe, run.variant) == (RECIPE, variant) and DEV_ACCURACY in run.metrics]
    names = {name for run in ours if (name := _name(run, data)) is not None}
    found = {name: runs_of(ours, RECIPE, variant, data, name) for name in sorted(names)}
    return {name: runs for name, runs in found.items() if runs}


def _strongest(results: Runs, variant: str, data: Data) -> Runs:
    """Return the runs of the settings with the highest validation accuracy, if these are not the paper's.

    A single seed does not compete with a mean of several: settings with fewer seeds than a row needs have no part, nor
    have those that start from vectors of other texts. Nothing is chosen before the paper's settings have their seeds;
    they win a draw.
    """
    found = {
        name: runs
        for name, runs in _by_name(results, variant, data).items()
        if len(runs) >= SEEDS and "word_vectors" not in runs[0].settings
    }
    if "" not in found:
        return []
    best = max(found, key=lambda name: statistics.fmean(run.metrics[DEV_ACCURACY] for run in found[name]))
    return found[best] if best else []


def _together(results: Runs, base: dict[Data, Runs], variant: str, name: str) -> list[list[str]]:
    """The row of several seeds as one, compared with the mean of the same seeds of the paper's settings."""
    found = {data: _named(results, ENSEMBLE_RECIPE, variant, data, name) for data in base}
    if not any(found.values()):
        return []
    cells = []
    for data, runs in found.items():
        if not runs:
            cells += [NOTHING, NOTHING]
            continue
        run = max(runs, key=lambda run: len(run.settings["seeds"]))
        plain = [one.metrics[DEV_ACCURACY] for one in base[data] if one.seed in run.settings["seeds"]]
        difference = run.metrics[DEV_ACCURACY] - statistics.fmean(plain) if plain else None
        cells.append(f"{run.metrics[DEV_ACCURACY]:.2f}")
        cells.append(NOTHING if difference is None else signed(f"{difference:.2f}"))
    model = "" if variant == ABLATION_MODELS[0] else f"{MODELS[variant]}: "
    return [[f"{model}{name or PAPERS}: the mean of the seeds' probabilities", *cells]]
