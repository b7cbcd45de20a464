"""The default settings of `ctxzoo train text-classification` on seven public sets, beside what a user has today.

MR, CR, SUBJ and MPQA are cross-validated: a cell is the mean and sample standard deviation over five folds. The others
have a test split: a cell is one training.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from functools import partial

from ctxzoo.results.comparison import are_scored_on_same_folds
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import NOT_RUN, NOTHING
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS
from reports.labels import read_labels
from reports.results_table import (
    Column,
    Difference,
    Line,
    Row,
    Table,
    make_difference_rows,
    make_rows,
    pick_by_heading,
)
from reports.run_selection import Runs, select_runs
from reports.score_columns import compare_means, compare_over_folds, compare_over_splits, format_mean
from reports.tables_lama import find_data

RECIPE = "default_text_classifier"
ACCURACY = "test/accuracy"
FOLDS = 5
# Rows of the test splits, for the intervals.
TEST_ROWS = {"Reuters": 2_189, "IMDB": 25_000, "News headlines": 1_918}
DATASETS = {**SENTENCE_DATASETS, **{heading: find_data(heading)["dataset"] for heading in TEST_ROWS}}
NORMAL_95 = 1.96
MODELS = read_labels("default_texts")
DEFAULT, SVM, *_ = MODELS


def _has_all_folds(runs: Runs) -> bool:
    """Return whether runs are complete: all folds, or one run on a fixed test split."""
    return bool(runs) and (len(runs) >= FOLDS or runs[0].fold is None)


def _compare_folds(ours: Runs, base: Runs) -> str:
    """Return the difference in accuracy over folds with its test; a dash where the folds differ."""
    return compare_over_folds(ACCURACY)(ours, base) if are_scored_on_same_folds(ours, base) else NOTHING


def _format_difference_interval(rows: int, ours: Runs, base: Runs) -> str:
    """Return the difference in accuracy on one test split of `rows` rows, with its 95 % interval, as text.

    The interval treats both models' errors as independent.

    Models that err on the same rows differ less by chance.
    """
    if not ours or not base:
        return NOTHING
    fractions = [statistics.fmean(run.metrics[ACCURACY] for run in runs) / 100 for runs in (ours, base)]
    deviation = sum(value * (1 - value) / rows for value in fractions) ** 0.5
    return f"{100 * (fractions[0] - fractions[1]):+.2f} ± {100 * NORMAL_95 * deviation:.2f}"


def _list_dataset_columns(key: str) -> list[Column]:
    """Return a column of a score for each dataset, shown where all folds are there."""
    return [
        Column(
            heading,
            lambda runs: format_mean(runs, key) if _has_all_folds(runs) else NOT_RUN,
            partial(_format_difference_interval, TEST_ROWS[heading]) if heading in TEST_ROWS else _compare_folds,
            where={"dataset": dataset},
        )
        for heading, dataset in DATASETS.items()
    ]


def _describe_runs(label: str, column: Column) -> dict[str, str]:
    """Return the values that the runs of a model (`label`) have in a dataset's column."""
    recipe, variant = (pair[column.heading in TEST_ROWS] for pair in MODELS[label])
    return {"recipe": recipe, "variant": variant, "tag": ""}


def _format_option(label: str, column: Column) -> str:
    """Return the command-line options that make the runs of a model in a dataset's column."""
    where = _describe_runs(label, column)
    return f"--{'parts' if where['recipe'] == RECIPE else 'models'} {where['variant']} --resume"


ROWS: list[Line] = [
    Row(label, partial(_describe_runs, label), command=partial(_format_option, label)) for label in MODELS
]
ROWS.insert(2, Difference("default − SVM", partial(_describe_runs, DEFAULT), partial(_describe_runs, SVM)))
TABLES: dict[str, Callable[..., str]] = {}
TABLES["default-texts"] = Table(_list_dataset_columns(ACCURACY), ROWS, complete=_has_all_folds)
TABLES["default-texts-minutes"] = Table(
    ("minutes",),
    [Row(heading, {"dataset": dataset}) for heading, dataset in DATASETS.items()],
    where={"recipe": RECIPE, "variant": "both", "tag": ""},
    headings=("set",),
)


def _write_command(rows: int, seeds: Iterable[int]) -> str:
    """Return the options of the recipe that train with so many rows of these draws."""
    return f"--train_rows {rows} --seeds {' '.join(map(str, seeds))} --resume"


SMALL = read_labels("small_texts")
ALL_ROWS = 1_000_000  # more than any set has
# Each draw is a repetition, with the same rows for all models, whose differences are tested in pairs. Draws of the
# smallest set, of 3,000 rows, share this part of their rows: the correction of the test for all sets. All rows are
# drawn but once: trainings with them differ in the held-out tenth and the network's start, and no test is made.
TABLES |= {
    f"small-texts-{name}": Table(
        [
            Column(
                heading,
                lambda runs: format_mean(runs, ACCURACY, 1),
                compare_means(ACCURACY) if rows == ALL_ROWS else compare_over_splits(ACCURACY, rows / 3_000),
                where={"dataset": dataset},
            )
            for heading, dataset in DATASETS.items()
        ],
        [
            *make_rows(SMALL, needed=list(SMALL)[:4], seeds=seeds, command=_write_command(rows, seeds)),
            *make_difference_rows(SMALL, [("default", name) for name in list(SMALL)[1:4]], note=note),
        ],
        where={"recipe": "small_texts", "tag": f"rows{rows}"},
    )
    for name, rows, seeds, note in (
        *((str(rows), rows, range(5, 10), " (p over draws)") for rows in (100, 300, 1000)),
        ("all", ALL_ROWS, range(3), ""),
    )
}


def _read_network_weight(run: RunResult) -> float:
    """Return the weight of the network's scores in a run; 0 for the linear classifier alone."""
    return 0.0 if run.variant == "wide" else float(run.settings["deep_scale"])


def _list_trial_rows(results: Runs) -> Iterable[Line]:
    """Yield a row for each tried weight of the network's scores; 0 is the linear classifier alone."""
    found = select_runs(results, {"recipe": RECIPE})
    for weight in sorted({_read_network_weight(run) for run in found}):
        ours = [run for run in found if _read_network_weight(run) == weight]
        runs = {heading: select_runs(ours, {"dataset": dataset}) for heading, dataset in DATASETS.items()}
        yield Row(f"{weight:g}", pick_by_heading(runs))


TRIAL_TABLES: dict[str, Callable[..., str]] = {
    "default-texts-trials": Table(_list_dataset_columns("validation/accuracy"), _list_trial_rows, headings=("weight",))
}
