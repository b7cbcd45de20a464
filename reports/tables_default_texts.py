"""The default settings of `ctxzoo train text-classification` on seven public sets, beside what a user has today.

MR, CR, SUBJ and MPQA are cross-validated: a cell is the mean and sample standard deviation over five folds. The others
have a test split: a cell is one training.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ctxzoo.results.comparison import are_comparable, difference_cell
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import (
    NOT_RUN,
    NOTHING,
    markdown_table,
    mean_and_deviation,
    minutes,
    refuse_mixtures,
    refuse_repeats,
    with_commands,
)
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS
from reports.tables_lama import IMDB, OTHERS, REUTERS, Data, runs_of

RECIPE = "default_text_classifier"
ACCURACY = "test/accuracy"
VALIDATION_ACCURACY = "validation/accuracy"
FOLDS = 5
NEWS = OTHERS[-1]
DOCUMENTS = (REUTERS, IMDB, NEWS)
# Rows of the test splits, for the intervals.
TEST_ROWS = {REUTERS: 2_189, IMDB: 25_000, NEWS: 1_918}
NORMAL_95 = 1.96
Runs = list[RunResult]


@dataclass(frozen=True)
class Row:
    """A row: its label, and recipe and variant of its runs on sentences and on documents; None: not run there."""

    label: str
    sentences: tuple[str, str] | None
    documents: tuple[str, str] | None

    def runs(self, results: Sequence[RunResult], column: str | Data) -> Runs:
        """Return the runs of a column: the name of a set of sentences, or documents."""
        if isinstance(column, Data):
            return [] if self.documents is None else runs_of(results, *self.documents, column)
        if self.sentences is None:
            return []
        wanted = (*self.sentences, SENTENCE_DATASETS[column], "")
        found = [run for run in results if (run.recipe, run.variant, run.dataset, run.tag) == wanted]
        found = [run for run in found if not run.settings.get("tiny") and ACCURACY in run.metrics]
        refuse_mixtures(found)
        refuse_repeats(found)
        return found


DEFAULT = Row("**default**: network and linear classifier", (RECIPE, "both"), (RECIPE, "both"))
SVM = Row(
    "TF-IDF and linear SVM, C chosen",
    ("sentence_linear", "words_characters_svm_tuned"),
    ("document_linear", "words_svm_tuned"),
)
ROWS = (
    DEFAULT,
    SVM,
    Row("the default's linear classifier alone", (RECIPE, "wide"), (RECIPE, "wide")),
    Row("the default's network alone", (RECIPE, "deep"), (RECIPE, "deep")),
    Row("fastText, its defaults", ("sentence_linear", "fasttext"), ("document_linear", "fasttext")),
    Row(
        "fastText, tuned by itself for a minute",
        ("sentence_linear", "fasttext_autotuned"),
        ("document_linear", "fasttext_autotuned"),
    ),
    Row(
        "Contextualizer (sentences) and LAMA, the papers' settings",
        ("sentence_contextualizer", "learned_embeddings"),
        ("document_lama", "lama"),
    ),
)


def scores(results: Runs) -> str:
    """Accuracy on the test parts, and the difference to the tuned linear SVM."""
    columns: list[str | Data] = [*SENTENCE_DATASETS, *DOCUMENTS]
    headings = ["model", *(column.heading if isinstance(column, Data) else column for column in columns)]
    rows, missing = [], set()
    for row in ROWS:
        cells = []
        for column in columns:
            runs = row.runs(results, column)
            whole = len(runs) >= (1 if isinstance(column, Data) else FOLDS)
            cells.append(mean_and_deviation([run.metrics[ACCURACY] for run in runs]) if whole else NOT_RUN)
            if not whole:
                recipe, variant = (row.documents if isinstance(column, Data) else row.sentences) or ("", "")
                option = "parts" if recipe == RECIPE else "models"
                missing.add(f"python recipes/{recipe}.py --{option} {variant} --resume")
        rows.append([row.label, *cells])
        if row is SVM:
            rows.append(["default − SVM", *(_difference(results, column) for column in columns)])
    return with_commands(markdown_table(headings, rows), [f"# {NOT_RUN}", *sorted(missing)] if missing else [])


def training_minutes(results: Runs) -> str:
    """Minutes of a training with the default settings on one core, and the rows that it is trained on."""
    rows = []
    columns: list[str | Data] = [*SENTENCE_DATASETS, *DOCUMENTS]
    for column in columns:
        runs = DEFAULT.runs(results, column)
        heading = column.heading if isinstance(column, Data) else column
        rows.append([heading, minutes(runs) if runs else NOT_RUN])
    return markdown_table(["set", "minutes"], rows)


def _difference(results: Runs, column: str | Data) -> str:
    """The difference with p of a paired test over folds, or with an interval of 95 % where there is one test split."""
    ours, bar = DEFAULT.runs(results, column), SVM.runs(results, column)
    if not ours or not bar:
        return NOTHING
    if not isinstance(column, Data):
        return difference_cell(ours, bar, ACCURACY) if are_comparable(ours, bar) else NOTHING
    fractions = [statistics.fmean(run.metrics[ACCURACY] for run in runs) / 100 for runs in (ours, bar)]
    # As of two samples of their own: models that err on the same rows differ less by chance.
    deviation = sum(value * (1 - value) / TEST_ROWS[column] for value in fractions) ** 0.5
    return f"{100 * (fractions[0] - fractions[1]):+.2f} ± {100 * NORMAL_95 * deviation:.2f}"


def trials(runs: Runs) -> str:
    """Accuracy on the validation parts by the weight of the network's scores; 0 is the linear classifier alone."""
    found = [run for run in runs if run.recipe == RECIPE and not run.settings.get("tiny")]
    weights = sorted({_network_weight(run) for run in found})
    columns: list[str | Data] = [*SENTENCE_DATASETS, *DOCUMENTS]
    rows = []
    for weight in weights:
        cells = []
        for column in columns:
            dataset = column.dataset if isinstance(column, Data) else SENTENCE_DATASETS[column]
            ours = [run for run in found if (run.dataset, _network_weight(run)) == (dataset, weight)]
            whole = len(ours) >= (1 if isinstance(column, Data) else FOLDS)
            cells.append(mean_and_deviation([run.metrics[VALIDATION_ACCURACY] for run in ours]) if whole else NOT_RUN)
        rows.append([f"{weight:g}", *cells])
    headings = ["weight", *(column.heading if isinstance(column, Data) else column for column in columns)]
    return markdown_table(headings, rows)


def _network_weight(run: RunResult) -> float:
    return 0.0 if run.variant == "wide" else float(run.settings["deep_scale"])


TRIAL_TABLES: dict[str, Callable[[Runs], str]] = {"default-texts-trials": trials}
TABLES: dict[str, Callable[[Runs], str]] = {"default-texts": scores, "default-texts-minutes": training_minutes}
