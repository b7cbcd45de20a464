"""Two models compared over their seeds: what another training of each would give."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from scipy import stats

from ctxzoo.results.comparison import PairedTest
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import NOTHING

ONE_SEED = "one seed"


def compare_seeds(first: Sequence[RunResult], second: Sequence[RunResult], metric: str) -> PairedTest:
    """Return Welch's t-test of two models over their seeds (two-sided; the variances may differ).

    Where all runs of each model have one score, p is 1 if these are equal, else 0.

    Args:
        first, second: Results of each model, one for each seed, two or more.
        metric: Name of the score to compare.

    Raises:
        ValueError: A model has fewer than two runs.
    """
    first_scores, second_scores = ([run.metrics[metric] for run in runs] for runs in (first, second))
    if min(len(first_scores), len(second_scores)) < 2:
        raise ValueError(
            f"{len(first_scores)} and {len(second_scores)} runs; a test over seeds needs two or more of each model"
        )
    difference = statistics.fmean(first_scores) - statistics.fmean(second_scores)
    if len(set(first_scores)) == len(set(second_scores)) == 1:
        return PairedTest(difference, float(difference == 0))
    return PairedTest(difference, float(stats.ttest_ind(first_scores, second_scores, equal_var=False).pvalue))


def format_seeds_cell(first: Sequence[RunResult], second: Sequence[RunResult], metric: str, digits: int = 2) -> str:
    """Write the mean difference over seeds: ``-0.20 (p = 0.031)``, ``-0.20 (one seed)``, a dash for other data.

    Args:
        first, second, metric: Results of both models and name of the score, as in `compare_seeds`.
        digits: Number of decimals of the difference.
    """
    data = {(run.dataset, run.data["fingerprint"]) for run in (*first, *second)}
    if not first or not second or len(data) > 1:
        return NOTHING
    if min(len(first), len(second)) > 1:
        return compare_seeds(first, second, metric).cell(digits)
    first_mean, second_mean = (statistics.fmean(run.metrics[metric] for run in runs) for runs in (first, second))
    return f"{round(first_mean - second_mean, digits) + 0.0:+.{digits}f} ({ONE_SEED})"
