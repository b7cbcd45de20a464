"""Prediction intervals of a regression by split conformal prediction, from errors on rows held out of the training.

Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World" (2005); Lei et al., "Distribution-Free Predictive
Inference for Regression" (2018), theorem 2.2: of n held-out rows and a new one that could have been drawn in any
order, the new one's absolute error is at most the k-th smallest of the others with a probability of k / (n + 1) at
least.
"""

import math
from collections.abc import Sequence

import torch

MOST_ERRORS = 999  # that a configuration keeps: one for each thousandth


def select_interval_errors(errors: torch.Tensor, most: int = MOST_ERRORS) -> list[float]:
    """Return the sorted absolute errors of held-out rows, of many the order statistics that stand for all.

    Of more than `most` errors the j-th that is kept is the ceil((n + 1) j / (most + 1))-th smallest of n, so that
    `find_half_width` gives from those that are kept what covers at least as much as asked for.

    Args:
        errors: (n,) differences of predictions and targets, in any order.
        most: Largest number of errors that are returned.
    """
    ordered = errors.double().abs().sort().values
    number = len(ordered)
    if number > most:
        places = [math.ceil((number + 1) * place / (most + 1)) - 1 for place in range(1, most + 1)]
        ordered = ordered[places]
    kept: list[float] = ordered.tolist()
    return kept


def find_half_width(errors: Sequence[float], level: float) -> float:
    """Return the half width of intervals that hold at least `level` percent of new targets.

    Args:
        errors: Sorted absolute errors of held-out rows, as `select_interval_errors` gives them.
        level: Share of new targets within their intervals, in percent, above 0 and below 100.

    Raises:
        ValueError: another level, or one that so few errors cannot vouch for.
    """
    if not 0 < level < 100:
        raise ValueError(f"an interval of {level:g} %: expected a share above 0 and below 100, such as 90")
    place = math.ceil(round((len(errors) + 1) * level / 100, 9))  # the product may end a rounding above a whole number
    if place > len(errors):
        highest = 100 * len(errors) / (len(errors) + 1)
        raise ValueError(
            f"an interval of {level:g} %: the model has the errors of {len(errors)} held-out rows, which vouch for "
            f"{math.floor(highest * 10) / 10:g} % at most; ask for less, or train with more validation rows"
        )
    return float(errors[place - 1])
