"""Whether two models differ, judged by their scores on the same folds of a cross-validation."""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from scipy import stats

Place = TypeVar("Place", bound=Hashable)


@dataclass(frozen=True)
class PairedTest:
    """The result of a paired test.

    Attributes:
        difference: mean of first minus second, in the unit of the scores.
        p: probability of a mean difference at least as far from 0 between models that do not differ (two-sided).
    """

    difference: float
    p: float


def paired_test(first: Mapping[Place, float], second: Mapping[Place, float], test_to_train: float) -> PairedTest:
    """Return the corrected resampled t-test of Nadeau and Bengio (2003).

    The folds share most of their training rows, so their J differences are not independent, and the variance of their
    mean is taken as (1/J + n_test / n_train) times the sample variance instead of 1/J times. Under the null hypothesis
    the mean divided by the root of this is taken as Student's t with J - 1 degrees of freedom. Where all differences
    are equal, p is 1 if they are 0, else 0.

    Args:
        first, second: score of each model by fold, under any key that both use, for instance (seed, fold).
        test_to_train: n_test / n_train, rows scored to rows trained on; 1 / (k - 1) for the test part of k folds.

    Raises:
        ValueError: the models were scored on different folds, or on fewer than two; `test_to_train` not above 0.
    """
    if first.keys() != second.keys():
        alone = sorted(map(str, first.keys() ^ second.keys()))
        raise ValueError(f"only one of the models has scores of {', '.join(alone)}; a paired test needs the same folds")
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
