"""Rows that are drawn, so that everything runs without a download.

Of the random generator `Random.random` alone is used, the one method whose sequence Python promises to keep: the same
seed gives the same rows everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from ctxzoo.data.formats import SPLITS

if TYPE_CHECKING:
    import datasets

T = TypeVar("T")
Columns = Mapping[str, Sequence[object]]


class RandomDraws(random.Random):
    """Random choices."""

    def draw_integer(self, end: int) -> int:
        """Return a random whole number from 0 to `end` - 1."""
        return int(self.random() * end)

    def draw_item(self, items: Sequence[T]) -> T:
        """Return one of the items, drawn at random."""
        return items[self.draw_integer(len(items))]

    def draw_bool(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.random() < probability

    def draw_permutation(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order."""
        result = list(items)
        for i in range(len(result) - 1, 0, -1):
            j = self.draw_integer(i + 1)
            result[i], result[j] = result[j], result[i]
        return result


def generate_splits(
    name: str, unit: str, seed: int, sizes: Sequence[int], draw_columns: Callable[[RandomDraws, int, str], Columns]
) -> dict[str, datasets.Dataset]:
    """Return generated data as splits train, validation and test, whose random numbers are independent.

    Args:
        name: Name of the generated dataset; the random draws depend on it.
        unit: Noun for a row, such as "sentence", for error messages.
        seed: Seed of the random draws, 0 or more.
        sizes: Numbers of rows of train, validation and test, 1 or more each.
        draw_columns: Function from a source of random draws, a number of rows and the name of a split to the columns.

    Raises:
        ValueError: negative seed, or a number of rows below 1.
    """
    import datasets

    if seed < 0:
        raise ValueError(f"seed is {seed}; expected 0 or more")
    splits = {}
    for split, rows in zip(SPLITS, sizes, strict=True):
        if rows < 1:
            raise ValueError(f"{split}={rows}; expected 1 {unit} or more")
        columns = draw_columns(RandomDraws(f"ctxzoo {name} {seed} {split}"), rows, split)
        splits[split] = datasets.Dataset.from_dict(dict(columns))
    return splits
