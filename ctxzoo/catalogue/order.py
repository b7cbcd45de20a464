"""Selections and orders of rows that were drawn at random: which rows, in which order, without their content.

A random division whose making nobody can repeat is kept as one short hash for each row, in the order of the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from ctxzoo.catalogue.entry import Rows, Splits

SPLITS = ("train", "validation", "test")
SPLIT_SEED = 20200608
ENDS = (0.8, 0.9)  # fractions of the rows up to where train and validation go
KEY = np.uint32  # a collision among the rows of a set would show in the fingerprint


def hash_row_values(values: Iterable[Any]) -> int:
    """Return the hash of the values by which a stored order knows a row."""
    content = "\0".join(map(str, values))
    return int.from_bytes(hashlib.sha256(content.encode()).digest()[:4], "little")


def load_packaged_arrays(name: str) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a file of this package, `<name>.npz`, by their names."""
    with (files("ctxzoo.catalogue") / f"{name}.npz").open("rb") as file, np.load(file) as arrays:
        return dict(arrays)


def apply_stored_order(rows: Sequence[dict[str, Any]], key_columns: Sequence[str], name: str) -> Splits:
    """Return the rows that a packaged order names, in that order, without the others.

    Args:
        rows: All rows that the raw files give.
        key_columns: Columns that identify a row; of several rows with the same values in them the first is used.
        name: Name of the stored order, which holds an array of row keys (`hash_row_values`) for each split.
    """
    row_of_key: dict[int, dict[str, Any]] = {}
    for row in rows:
        row_of_key.setdefault(hash_row_values(row[column] for column in key_columns), row)
    return {
        split: rows_to_columns([row_of_key[key] for key in keys.tolist() if key in row_of_key])
        for split, keys in load_packaged_arrays(name).items()
    }


def split_randomly(
    rows: Iterable[dict[str, Any]], sort_column: str, seed: int = SPLIT_SEED
) -> dict[str, list[dict[str, Any]]]:
    """Return train, validation and test, drawn at random, each sorted by `sort_column`.

    Args:
        rows: Rows from which splits of 80 %, 10 % and 10 % are drawn.
        sort_column: Column whose values identify the rows, so that the draw does not depend on their order.
        seed: Seed of the draw; default: the one that almost all datasets use.
    """
    ordered = sorted(rows, key=lambda row: row[sort_column])
    drawn = np.random.default_rng(seed).permutation(len(ordered))
    parts = np.split(drawn, [int(fraction * len(ordered)) for fraction in ENDS])
    return {split: [ordered[row] for row in sorted(part.tolist())] for split, part in zip(SPLITS, parts, strict=True)}


def rows_to_columns(rows: Sequence[dict[str, Any]]) -> Rows:
    """Return a list of rows with equal keys as a dict of columns."""
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
