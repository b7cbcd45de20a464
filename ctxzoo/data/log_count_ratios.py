"""Naive-Bayes log-count ratios: how much a feature speaks for a class (Wang and Manning 2012)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

SMOOTHING = 1.0  # alpha, added to every count


def log_count_ratios(counts: Any, labels: npt.ArrayLike, classes: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """r = log((p / |p|) / (q / |q|)) with p = 1 + counts of the features in a class, q = 1 + counts outside it.

    Args:
        counts: (rows, features), a scipy sparse matrix or an array.
        labels: (rows,) class of each row.
        classes: (C,) those that are asked for, each against all others.

    Returns:
        (C, features); above 0 where a feature speaks for the class.
    """
    of_rows = np.asarray(labels)
    ratios = []
    for label in np.asarray(classes):
        inside = of_rows == label
        p, q = (SMOOTHING + np.asarray(counts[rows].sum(axis=0)).ravel() for rows in (inside, ~inside))
        ratios.append(np.log(p / p.sum()) - np.log(q / q.sum()))
    return np.stack(ratios)
