"""Word vectors: their tables, made from results files, beside the numbers of the paper.

A cell is the mean and sample standard deviation over trainings; differences are tested over them. Of POS induction each
training has a median over its restarts, and the spread is that of all restarts of all trainings. Runs without a name
are those of the recipe as it is, without subsampling for every model; tables_word_embedding_studies has the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ctxzoo.results.result import VECTORS_CONTENT, RunResult
from ctxzoo.results.seed_comparison import seeds_cell
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    markdown_table,
    mean_and_deviation,
    refuse_mixtures,
    refuse_repeats,
    with_commands,
)

RECIPE = "embedding_evaluation"
WINDOW = 20
SEEDS = 3  # that a row needs
Runs = list[RunResult]

MODELS = {
    "cbow": "CBOW",
    "skip_gram": "Skip-gram",
    "structured_skip_gram": "Structured skip-gram",
    "cwindow": "CWindow",
    "attention_cbow": "Attention CBOW",
}
# Vectors of others, read from files: their name -> what rows call them.
GIVEN = {"glove.6B.100d_wink": "GloVe 6B, d = 100, without words with digits and most signs"}
# Ling et al. (2015), Table 1: V-measure of POS induction, accuracy of POS tagging and of sentiment. It has no CWindow.
PAPER = {
    "cbow": (50.40, 97.03, 71.99),
    "skip_gram": (33.86, 97.19, 72.10),
    "structured_skip_gram": (47.64, 97.40, 69.96),
    "attention_cbow": (54.00, 97.39, 71.39),
}
# Tags of POS induction: the treebank's own stand beside the paper's.
TREEBANK_TAGS, UNIVERSAL_TAGS = "all/pos_tags", "all/upos"
# What is compared in the main table, and in which scores: task, and the name of the score.
COMPARISONS = (
    *(("attention_cbow", model) for model in MODELS if model != "attention_cbow"),
    ("cbow", "structured_skip_gram"),
)
COMPARED = (
    ("pos_induction", f"{TREEBANK_TAGS}/v_measure_median"),
    ("pos_induction", f"{UNIVERSAL_TAGS}/v_measure_median"),
    ("pos_tagging", "test/accuracy"),
    ("sentiment", "test/accuracy"),
)
OVER_TRAININGS = "(p over trainings)"
SIMILARITY_SETS = {
    "wordsim353": "WordSim-353",
    "men3000": "MEN",
    "rare_words": "rare words",
    "simverb3500": "SimVerb",
}
ANALOGY_PARTS = {"semantic": "semantic", "syntactic": "syntactic"}


def downstream(results: Runs) -> str:
    """The paper's Table 1: ours, and its number in brackets."""
    headings = [
        "model",
        "POS induction, V",
        "its spread",
        "12 tags, V",
        "its spread, 12 tags",
        "POS tagging",
        "sentiment",
        "trainings",
    ]
    rows, incomplete = [], False
    for model, label in {**MODELS, **GIVEN}.items():
        induction, tagging, sentiment = (
            _runs_of_row(results, model, task) for task in ("pos_induction", "pos_tagging", "sentiment")
        )
        if model in GIVEN and not (induction or tagging or sentiment):
            continue
        paper = PAPER.get(model)
        cells = [
            _beside(mean_of(induction, f"{TREEBANK_TAGS}/v_measure_median"), paper and paper[0]),
            spread_of(induction, TREEBANK_TAGS),
            mean_of(induction, f"{UNIVERSAL_TAGS}/v_measure_median"),
            spread_of(induction, UNIVERSAL_TAGS),
            _beside(mean_of(tagging, "test/accuracy"), paper and paper[1]),
            _beside(mean_of(sentiment, "test/accuracy"), paper and paper[2]),
            str(max(len(induction), len(tagging), len(sentiment))),
        ]
        rows.append([label, *(cells if model in MODELS else [cell.replace(NOT_RUN, NOTHING) for cell in cells])])
        incomplete |= model in MODELS and min(len(induction), len(tagging), len(sentiment)) < SEEDS
    for first, second in COMPARISONS:
        treebank, universal, *others = difference_cells(results, (first, ""), (second, ""))
        if {treebank, universal, *others} != {NOTHING}:
            label = f"{MODELS[first]} − {MODELS[second]} {OVER_TRAININGS}"
            rows.append([label, treebank, NOTHING, universal, NOTHING, *others])
    return with_evaluation(markdown_table(headings, rows), incomplete)


def intrinsic(results: Runs) -> str:
    """Word similarity and analogies, with the coverage of each set."""
    headings = ["model", *SIMILARITY_SETS.values(), *ANALOGY_PARTS.values(), "trainings"]
    rows, incomplete = [], False
    for model, label in {**MODELS, **GIVEN}.items():
        similarity, analogy = (_runs_of_row(results, model, task) for task in ("similarity", "analogy"))
        if model in GIVEN and not (similarity or analogy):
            continue
        cells = [_covered(similarity, f"test/{name}", "spearman") for name in SIMILARITY_SETS]
        cells += [_covered(analogy, f"test/{name}", "accuracy") for name in ANALOGY_PARTS]
        rows.append([label, *cells, str(max(len(similarity), len(analogy)))])
        incomplete |= model in MODELS and min(len(similarity), len(analogy)) < SEEDS
    return with_evaluation(markdown_table(headings, rows), incomplete)


TABLES: dict[str, Callable[[Runs], str]] = {
    "word-embedding-downstream": downstream,
    "word-embedding-intrinsic": intrinsic,
}


def runs_of(results: Sequence[RunResult], architecture: str, task: str, window: int = WINDOW, name: str = "") -> Runs:
    """The trainings of one cell.

    Raises:
        ValueError: a seed twice; trainings whose evaluations were not made alike.
    """
    expected = {"architecture": architecture, "window": window, "name": name, "task": task}
    found = [
        run
        for run in results
        if run.recipe == RECIPE and all(run.settings.get(key) == value for key, value in expected.items())
    ]
    refuse_repeats(found)
    refuse_mixtures([_without_vectors(run) for run in found])
    return found


def difference_cells(results: Sequence[RunResult], ours: tuple[str, str], base: tuple[str, str]) -> list[str]:
    """Write the differences in the scores of `COMPARED` with their p over trainings, dashes where a score is missing.

    Args:
        results: of all recipes.
        ours, base: architecture and name of the trainings.
    """
    cells = []
    for task, score in COMPARED:
        first, second = (
            [_without_vectors(run) for run in runs_of(results, architecture, task, name=name)]
            for architecture, name in (ours, base)
        )
        known = all(score in run.metrics for run in (*first, *second))
        cells.append(seeds_cell(first, second, score) if known else NOTHING)
    return cells


def _runs_of_row(results: Sequence[RunResult], model: str, task: str) -> Runs:
    """Return the trainings of a row, or the one evaluation of vectors of others."""
    if model in MODELS:
        return runs_of(results, model, task)
    return [run for run in results if run.recipe == RECIPE and (run.variant, run.settings.get("task")) == (model, task)]


def _without_vectors(run: RunResult) -> RunResult:
    """Return the run without what names its vectors, which are those of one training, in settings and taggers' data."""
    settings = {name: value for name, value in run.settings.items() if name not in ("vectors", VECTORS_CONTENT)}
    fingerprint = run.data["fingerprint"].partition(", word vectors ")[0]
    return replace(run, settings=settings, data={**run.data, "fingerprint": fingerprint})


def mean_of(runs: Runs, metric: str) -> str:
    """Write a metric over trainings, as a cell."""
    return mean_and_deviation([run.metrics.get(metric) for run in runs]) if runs else NOT_RUN


def _beside(ours: str, paper: float | None) -> str:
    return ours if paper is None else f"{ours} ({paper:.2f})"


def spread_of(runs: Runs, tags: str) -> str:
    """Write the range from the lowest to the highest restart of all trainings."""
    ends = [(run.metrics.get(f"{tags}/v_measure_lowest"), run.metrics.get(f"{tags}/v_measure_highest")) for run in runs]
    known = [(lowest, highest) for lowest, highest in ends if lowest is not None and highest is not None]
    if not known:
        return NOTHING
    return f"{min(lowest for lowest, _ in known):.2f} to {max(highest for _, highest in known):.2f}"


def _covered(runs: Runs, part: str, metric: str) -> str:
    shown = mean_of(runs, f"{part}/{metric}")
    if not runs or shown == NOTHING:
        return shown
    return f"{shown} (of {min(run.metrics[f'{part}/coverage'] for run in runs):.0f} %)"


def with_evaluation(table: str, incomplete: bool) -> str:
    """Return a table, where something is missing with the command that adds it."""
    command = f"python recipes/{RECIPE}.py --vectors CHECKPOINT … --seeds 0 1 2 --resume"
    return with_commands(table, [f"# {NOT_RUN}", command] if incomplete else [])
