"""The default settings of `ctxzoo train text-classification` on seven public sets, beside what a user has today.

MR, CR, SUBJ and MPQA are cross-validated: a cell is the mean and sample standard deviation over five folds. The others
have a test split: a cell is one training.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from functools import partial

from ctxzoo.results.comparison import are_comparable
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import NOT_RUN, NOTHING, minutes
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS
from reports.results_table import Column, Difference, Line, Row, Runs, Table, by_heading, folds_test, mean_of, select
from reports.tables_lama import data_of

RECIPE = "default_text_classifier"
ACCURACY, VALIDATION_ACCURACY = "test/accuracy", "validation/accuracy"
FOLDS = 5
# Rows of the test splits, for the intervals.
TEST_ROWS = {"Reuters": 2_189, "IMDB": 25_000, "News headlines": 1_918}
DATASETS = {**SENTENCE_DATASETS, **{heading: data_of(heading)["dataset"] for heading in TEST_ROWS}}
NORMAL_95 = 1.96
# Of the rows: recipe and variant on sentences, and on documents.
MODELS = {
    "**default**: network and linear classifier": ((RECIPE, "both"), (RECIPE, "both")),
    "TF-IDF and linear SVM, C chosen": (
        ("sentence_linear", "words_characters_svm_tuned"),
        ("document_linear", "words_svm_tuned"),
    ),
    "the default's linear classifier alone": ((RECIPE, "wide"), (RECIPE, "wide")),
    "the default's network alone": ((RECIPE, "deep"), (RECIPE, "deep")),
    "fastText, its defaults": (("sentence_linear", "fasttext"), ("document_linear", "fasttext")),
    "fastText, tuned by itself for a minute": (
        ("sentence_linear", "fasttext_autotuned"),
        ("document_linear", "fasttext_autotuned"),
    ),
    "Contextualizer (sentences) and LAMA, the papers' settings": (
        ("sentence_contextualizer", "learned_embeddings"),
        ("document_lama", "lama"),
    ),
}
DEFAULT, SVM, *_ = MODELS


def _is_whole(runs: Runs) -> bool:
    return bool(runs) and (len(runs) >= FOLDS or runs[0].fold is None)


def _accuracy(key: str, runs: Runs) -> str:
    return mean_of(runs, key) if _is_whole(runs) else NOT_RUN


def _minus(ours: Runs, bar: Runs) -> str:
    return folds_test(ACCURACY)(ours, bar) if are_comparable(ours, bar) else NOTHING


def _interval(rows: int, ours: Runs, bar: Runs) -> str:
    """Write the difference on the rows of one test split with an interval of 95 %, as of two samples of their own.

    Models that err on the same rows differ less by chance.
    """
    if not ours or not bar:
        return NOTHING
    fractions = [statistics.fmean(run.metrics[ACCURACY] for run in runs) / 100 for runs in (ours, bar)]
    deviation = sum(value * (1 - value) / rows for value in fractions) ** 0.5
    return f"{100 * (fractions[0] - fractions[1]):+.2f} ± {100 * NORMAL_95 * deviation:.2f}"


def _columns(key: str) -> list[Column]:
    return [
        Column(
            heading,
            partial(_accuracy, key),
            partial(_interval, TEST_ROWS[heading]) if heading in TEST_ROWS else _minus,
            where={"dataset": dataset},
        )
        for heading, dataset in DATASETS.items()
    ]


def _where(label: str, column: Column) -> dict[str, str]:
    recipe, variant = MODELS[label][column.heading in TEST_ROWS]
    return {"recipe": recipe, "variant": variant, "tag": ""}


def _command(label: str, column: Column) -> str:
    recipe, variant = MODELS[label][column.heading in TEST_ROWS]
    return f"python recipes/{recipe}.py --{'parts' if recipe == RECIPE else 'models'} {variant} --resume"


def _rows(results: Runs) -> Iterable[Line]:
    for label in MODELS:
        yield Row(label, partial(_where, label), command=partial(_command, label))
        if label == SVM:
            yield Difference("default − SVM", partial(_where, DEFAULT), partial(_where, SVM))


scores = Table(("model",), _columns(ACCURACY), _rows, complete=_is_whole)
training_minutes = Table(
    ("set",),
    (Column("minutes", minutes),),
    [Row(heading, {"dataset": dataset}) for heading, dataset in DATASETS.items()],
    where={"recipe": RECIPE, "variant": "both", "tag": ""},
)


def _network_weight(run: RunResult) -> float:
    return 0.0 if run.variant == "wide" else float(run.settings["deep_scale"])


def _trials(results: Runs) -> Iterable[Line]:
    found = select(results, {"recipe": RECIPE})
    for weight in sorted({_network_weight(run) for run in found}):
        ours = [run for run in found if _network_weight(run) == weight]
        runs = {heading: select(ours, {"dataset": dataset}) for heading, dataset in DATASETS.items()}
        yield Row(f"{weight:g}", by_heading(runs))


# Accuracy on the validation parts by the weight of the network's scores; 0 is the linear classifier alone.
trials = Table(("weight",), _columns(VALIDATION_ACCURACY), _trials)

TRIAL_TABLES: dict[str, Callable[..., str]] = {"default-texts-trials": trials}
TABLES: dict[str, Callable[..., str]] = {"default-texts": scores, "default-texts-minutes": training_minutes}
