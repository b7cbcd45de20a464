"""Cross-validations compared: runs of one model, one for each fold and seed, and whether two models differ on them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from scipy import stats

from ctxzoo.data.text_folds import DEV_SHARE
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import NOTHING, format_mean_and_deviation

Place = TypeVar("Place", bound=Hashable)


def format_score_cell(runs: Sequence[RunResult], metric: str) -> str:
    """Write ``mean ± sd`` of a score over folds and seeds, with a note if folds are missing."""
    cell = format_mean_and_deviation([run.metrics.get(metric) for run in runs])
    return cell if has_all_folds_and_seeds(runs) else f"{cell} ({len(runs)} of {_count_expected_runs(runs)} folds)"


def has_all_folds_and_seeds(runs: Sequence[RunResult]) -> bool:
    """Return whether runs of a cross-validation include every fold of every seed."""
    return bool(runs) and len(runs) == _count_expected_runs(runs)


def are_scored_on_same_folds(first: Sequence[RunResult], second: Sequence[RunResult]) -> bool:
    """Return whether two models were scored on the same two or more folds of one cross-validation."""
    if any(run.fold is None or "folds" not in run.settings for run in (*first, *second)):
        return False
    folds = [
        {(run.dataset, run.data["fingerprint"], run.settings["folds"]) for run in runs} for runs in (first, second)
    ]
    runs_of = [{(run.seed, run.fold) for run in runs} for runs in (first, second)]
    return folds[0] == folds[1] and len(folds[0]) == 1 and runs_of[0] == runs_of[1] and len(runs_of[0]) > 1


def compare_models_by_paired_test(first: Sequence[RunResult], second: Sequence[RunResult], metric: str) -> PairedTest:
    """Return the paired test over folds of two models by a metric.

    n_test / n_train is that of the split: rows of the test part to all others, or of the part held out for validation
    to those that are left for training.

    Raises:
        ValueError: the models were scored on different folds, or on fewer than two.
    """
    split = metric.split("/")[0]
    dev_fraction = first[0].settings.get("dev_share", DEV_SHARE)
    ratio = 1 / (first[0].settings["folds"] - 1) if split == "test" else dev_fraction / (1 - dev_fraction)
    first_scores, second_scores = (
        {(run.seed, run.fold): run.metrics[metric] for run in runs} for runs in (first, second)
    )
    return compute_paired_test(first_scores, second_scores, ratio)


def format_difference_cell(first: Sequence[RunResult], second: Sequence[RunResult], metric: str) -> str:
    """Write the difference of two models with its p-value, ``+1.20 (p = 0.031)``; a dash if not comparable."""
    if not are_scored_on_same_folds(first, second):
        return NOTHING
    return compare_models_by_paired_test(first, second, metric).cell()


def _count_expected_runs(runs: Sequence[RunResult]) -> int:
    """Return how many runs a full comparison has: folds times seeds."""
    return int(runs[0].settings["folds"]) * len({run.seed for run in runs})


@dataclass(frozen=True)
class PairedTest:
    """The result of a paired test.

    Attributes:
        difference: Mean of first minus second, in the unit of the scores.
        p: Probability of a mean difference at least as far from 0 between models that do not differ (two-sided).
    """

    difference: float
    p: float

    def cell(self, digits: int = 2) -> str:
        """Write the difference with its p-value: ``+1.20 (p = 0.031)``."""
        p = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.3f}"
        return f"{round(self.difference, digits) + 0.0:+.{digits}f} ({p})"  # + 0.0: no minus before zero


def compute_paired_test(
    first: Mapping[Place, float], second: Mapping[Place, float], test_to_train: float
) -> PairedTest:
    """Return the corrected resampled t-test (Nadeau and Bengio 2003) of two models' scores over folds.

    The folds share most of their training rows, so their J differences are not independent, and the variance of their
    mean is taken as (1/J + n_test / n_train) times the sample variance instead of 1/J times. Under the null hypothesis
    the mean divided by the root of this is taken as Student's t with J - 1 degrees of freedom. Where all differences
    are equal, p is 1 if they are 0, else 0.

    Args:
        first, second: Scores of the two models by fold, under any keys that both use, for instance (seed, fold).
        test_to_train: Ratio of the number of scored rows to the number of training rows, n_test / n_train; 1 / (k - 1)
            for the test part of k folds.

    Raises:
        ValueError: the models were scored on different folds, or on fewer than two; `test_to_train` not above 0.
    """
    if first.keys() != second.keys():
        unmatched = sorted(map(str, first.keys() ^ second.keys()))
        raise ValueError(
            f"only one of the models has scores of {', '.join(unmatched)}; a paired test needs the same folds"
        )
    if len(first) < 2:
        raise ValueError(f"scores of {len(first)} folds; a paired test needs 2 or more")
    if not test_to_train > 0:
        raise ValueError(f"test_to_train is {test_to_train}; expected a ratio above 0, for 5 folds 0.25")
    differences = [first[fold] - second[fold] for fold in first]
    mean = statistics.fmean(differences)
    variance = (1 / len(differences) + test_to_train) * statistics.variance(differences)
    if variance == 0:
        return PairedTest(mean, float(mean == 0))
    p = 2 * stats.t.sf(abs(mean) / math.sqrt(variance), df=len(differences) - 1)
    return PairedTest(mean, float(p))
