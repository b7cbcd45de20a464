"""Word vectors: tables of other settings than those of the main table, and of the width of the window."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ctxzoo.results.table_parts import NOTHING, markdown_table
from reports.tables_word_embedding import (
    MODELS,
    OVER_TRAININGS,
    RECIPE,
    SIMILARITY_SETS,
    TREEBANK_TAGS,
    UNIVERSAL_TAGS,
    WINDOW,
    Runs,
    difference_cells,
    mean_of,
    runs_of,
    spread_of,
    with_evaluation,
)

WINDOWS = (2, 5, 10, 20)
OF_WINDOWS = ("attention_cbow", "cbow")
SIMILARITY = ("wordsim353", "men3000")


class Study(NamedTuple):
    """Trainings of an architecture with other settings, which their name stands for."""

    architecture: str
    name: str


# docs/results/word_embedding.md lists the command of each. Without a name: the recipe as it is.
STUDIES = {
    Study("attention_cbow", ""): "Attention CBOW",
    Study("cbow", ""): "CBOW",
    **{Study(architecture, "subsampled"): f"{label}, subsampling 0.001" for architecture, label in MODELS.items()},
    Study("attention_cbow", "uniform"): "Attention CBOW, K = s = 0 throughout",
    Study("attention_cbow", "konly"): "Attention CBOW, K without s",
    Study("attention_cbow", "sonly"): "Attention CBOW, s without K",
    Study("attention_cbow", "rank8"): "Attention CBOW, K of rank 8",
    Study("attention_cbow", "rate0.2"): "Attention CBOW, learning rate 0.2",
    Study("attention_cbow", "uniform-rate0.2"): "Attention CBOW, K = s = 0 throughout, learning rate 0.2",
    Study("cbow", "exact"): "CBOW, exact gradient",
    Study("cbow", "exact-rate0.2"): "CBOW, exact gradient, learning rate 0.2",
    Study("positional_cbow", ""): "Positional CBOW",
}
# What attention adds at each rate, what the rate adds, and positional weights beside attention.
COMPARISONS = (
    (Study("attention_cbow", ""), Study("attention_cbow", "uniform")),
    (Study("attention_cbow", "rate0.2"), Study("attention_cbow", "uniform-rate0.2")),
    (Study("attention_cbow", "rate0.2"), Study("attention_cbow", "")),
    (Study("positional_cbow", ""), Study("attention_cbow", "")),
)


def studies(results: Runs) -> str:
    """A row for each of `STUDIES`, and for every other name that has results."""
    headings = ["model", "POS induction, V", "its spread", "12 tags, V", "POS tagging", "sentiment"]
    headings += [*(SIMILARITY_SETS[name] for name in SIMILARITY), "trainings"]
    rows, incomplete = [], False
    for study, label in {**STUDIES, **_other_studies(results)}.items():
        induction, tagging, sentiment, similarity = (
            runs_of(results, study.architecture, task, name=study.name)
            for task in ("pos_induction", "pos_tagging", "sentiment", "similarity")
        )
        every = (induction, tagging, sentiment, similarity)
        rows.append(
            [
                label,
                mean_of(induction, f"{TREEBANK_TAGS}/v_measure_median"),
                spread_of(induction, TREEBANK_TAGS),
                mean_of(induction, f"{UNIVERSAL_TAGS}/v_measure_median"),
                mean_of(tagging, "test/accuracy"),
                mean_of(sentiment, "test/accuracy"),
                *(mean_of(similarity, f"test/{name}/spearman") for name in SIMILARITY),
                str(max(map(len, every))),
            ]
        )
        incomplete |= not all(every)
    for ours, base in COMPARISONS:
        treebank, universal, *others = difference_cells(results, ours, base)
        if {treebank, universal, *others} != {NOTHING}:
            label = f"{STUDIES[ours]} − {STUDIES[base]} {OVER_TRAININGS}"
            rows.append([label, treebank, NOTHING, universal, *others])
    return with_evaluation(markdown_table(headings, rows), incomplete)


def windows(results: Runs) -> str:
    """POS induction by the half window b."""
    headings = ["model", *(f"b = {window}" for window in WINDOWS)]
    rows, incomplete = [], False
    for tags, shown in ((TREEBANK_TAGS, "the treebank's tags"), (UNIVERSAL_TAGS, "12 tags")):
        for architecture in OF_WINDOWS:
            cells = [runs_of(results, architecture, "pos_induction", window) for window in WINDOWS]
            medians = [mean_of(runs, f"{tags}/v_measure_median") for runs in cells]
            rows.append([f"{MODELS[architecture]}, {shown}", *medians])
            incomplete |= not all(cells)
    return with_evaluation(markdown_table(headings, rows), incomplete)


TABLES: dict[str, Callable[[Runs], str]] = {
    "word-embedding-studies": studies,
    "word-embedding-windows": windows,
}


def _other_studies(results: Runs) -> dict[Study, str]:
    found = {
        Study(run.settings["architecture"], run.settings["name"])
        for run in results
        if run.recipe == RECIPE and run.settings.get("window") == WINDOW and run.settings.get("name")
    }
    return {
        study: f"{MODELS.get(study.architecture, study.architecture)}, {study.name}"
        for study in sorted(found - set(STUDIES))
    }
