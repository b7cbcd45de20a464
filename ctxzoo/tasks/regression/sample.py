"""Generated rows of numbers: a wave with a trend over one feature, shifted by another, and a third that says nothing.

Only `random.Random.random` is used, the one method whose sequence Python promises to keep: the same seed gives the same
numbers everywhere, but for the last digit of a sine.
"""

from __future__ import annotations

import math
import random

import datasets

from ctxzoo.data.formats import SPLITS

FEATURES, TARGET = ("day", "height", "noise"), "level"
DAYS, TURN, TREND, SHIFT, ERROR = 60.0, 12.0, 0.05, 1.5, 0.2


def sample_rows(seed: int = 0, train: int = 120, validation: int = 20, test: int = 20) -> dict[str, datasets.Dataset]:
    """Return generated rows; the same arguments give the same rows on every machine.

    Args:
        seed: 0 or more.
        train, validation, test: number of rows, 1 or more.

    Returns:
        Splits train, validation and test with the columns day, height and noise, and level, the target. A larger split
        begins with a smaller one's rows.

    Raises:
        ValueError: negative seed, or a number of rows below 1.
    """
    if seed < 0:
        raise ValueError(f"seed is {seed}; expected 0 or more")
    splits = {}
    for split, rows in zip(SPLITS, (train, validation, test), strict=True):
        if rows < 1:
            raise ValueError(f"{split}={rows}; expected 1 row or more")
        draws = random.Random(f"ctxzoo sample_rows {seed} {split}")
        drawn = [_row(draws) for _ in range(rows)]
        splits[split] = datasets.Dataset.from_dict(
            {name: [row[place] for row in drawn] for place, name in enumerate((*FEATURES, TARGET))}
        )
    return splits


def _row(draws: random.Random) -> tuple[float, float, float, float]:
    day, height, noise = DAYS * draws.random(), 2 * draws.random() - 1, draws.random()
    error = ERROR * (draws.random() + draws.random() - 1)
    level = math.sin(2 * math.pi * day / TURN + SHIFT * height) + TREND * day + error
    return day, height, noise, level
