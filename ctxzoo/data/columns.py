"""A column of a split, with an error that names what is there instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import datasets


def column_of(splits: Mapping[str, datasets.Dataset], split: str, name: str, dataset: str) -> list[Any]:
    """Return the values of a column, one or more.

    Raises:
        ValueError: no such split or column, or no row.
    """
    if split not in splits:
        raise ValueError(f"dataset {dataset!r} has the splits {sorted(splits)}, expected {split!r}")
    rows = splits[split]
    if name not in rows.column_names:
        raise ValueError(f"dataset {dataset!r}, split {split!r} has the columns {rows.column_names}, expected {name!r}")
    values: list[Any] = rows[name][:]
    if not values:
        raise ValueError(f"dataset {dataset!r}, split {split!r} has no row")
    return values
