"""Columns of scores over seeds or folds, and what writes their means and differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ctxzoo.results.comparison import compute_paired_test, format_difference_cell, format_score_cell
from ctxzoo.results.result import RunResult
from ctxzoo.results.seed_comparison import format_seeds_cell
from ctxzoo.results.table_parts import NOTHING, format_mean_and_deviation, format_mean_difference
from reports.results_table import Column
from reports.run_selection import Runs


def score_column(heading: str, key: str, decimals: int = 2, *, tested: bool = False, **more: Any) -> Column:
    """Return a column that shows the mean ± sample standard deviation of a score over the runs of a row.

    Args:
        heading: Text in the head of the column.
        key: Name of the score, such as ``test/accuracy``.
        decimals: Number of decimal places.
        tested: Whether differences of rows are shown with their test over seeds.
        more: Further attributes of `Column`, by name.
    """
    if tested:
        more["minus"] = compare_over_seeds(key, decimals)
    return Column(heading, lambda runs: format_mean(runs, key, decimals), **more)


def format_mean(runs: Iterable[RunResult], key: str, decimals: int = 2) -> str:
    """Return the mean and sample standard deviation of a score over runs, as text."""
    return format_mean_and_deviation([run.metrics.get(key) for run in runs], decimals)


def compare_over_seeds(key: str, digits: int = 2) -> Callable[[Runs, Runs], str]:
    """Return a function from the runs of two rows to the difference of a score with its p value over seeds."""

    def write_difference(ours: Runs, base: Runs) -> str:
        return (
            format_seeds_cell(ours, base, key, digits) if all(key in run.metrics for run in (*ours, *base)) else NOTHING
        )

    return write_difference


def compare_over_splits(key: str, test_to_train: float) -> Callable[[Runs, Runs], str]:
    """Return a function from the runs of two rows to the mean difference of a score with its p value over splits.

    Splits are common random ones; the test is `compute_paired_test`.

    Args:
        key: Name of the score, such as ``test/rmse``.
        test_to_train: Number of test rows per training row.
    """

    def write_difference(ours: Runs, base: Runs) -> str:
        """Return the mean difference on the splits that both rows have, as text; a dash below two."""
        own_scores, base_scores = ({(run.seed, run.fold): run.metrics[key] for run in runs} for runs in (ours, base))
        common = own_scores.keys() & base_scores.keys()
        if len(common) < 2:
            return NOTHING
        own_scores, base_scores = ({split: scores[split] for split in common} for scores in (own_scores, base_scores))
        return compute_paired_test(own_scores, base_scores, test_to_train).cell()

    return write_difference


def compare_means(key: str) -> Callable[[Runs, Runs], str]:
    """Return a function from the runs of two rows to the difference of a score's means, without a test."""
    return lambda ours, base: format_mean_difference(ours, base, key)


def add_difference_columns(columns: Iterable[Column], minus: Callable[[Runs, Runs], str]) -> list[Column]:
    """Return the columns, each followed by a column of differences to the row's base.

    Args:
        columns: Columns of scores.
        minus: Function that writes the difference of two rows' runs.
    """
    return [
        shown
        for column in columns
        for shown in (column, Column(f"{column.heading}, difference", minus=minus, where=column.where))
    ]


def compare_over_folds(key: str) -> Callable[[Runs, Runs], str]:
    """Return a function from the runs of two rows to the difference of a score with its p value over folds."""
    return lambda ours, base: format_difference_cell(ours, base, key)


def folds_score_column(heading: str, key: str, **more: Any) -> Column:
    """Return a column of a score over the folds of a cross-validation, with its test; it marks missing folds."""
    return Column(heading, lambda runs: format_score_cell(runs, key), compare_over_folds(key), **more)
