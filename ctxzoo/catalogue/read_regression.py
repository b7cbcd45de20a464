"""Converter of tables of numbers, of which one column is predicted from others, each divided at random."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ctxzoo.catalogue.entry import Files, RawFileError, Rows, Splits
from ctxzoo.catalogue.order import columns_of

SPLIT_SEED = 1000
TRAIN, HELD_OUT = 0.8, 0.9  # fractions of the rows up to where train and validation go
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class NumberTable:
    """A file of columns, with their names in its first line.

    Attributes:
        file: its name.
        features: columns that a row's `x` has, in this order; none: the number of the row, from 0, is its one feature.
        target: the column that is predicted.
    """

    file: str
    features: tuple[str, ...]
    target: str


def number_tables(tables: Mapping[str, NumberTable]) -> Callable[[Files], Splits]:
    """Return a converter of tables to rows of `row`, the number in the file from 0, features `x`, and target `y`.

    Args:
        tables: name of the configuration to its table.
    """

    def convert(files: Files) -> Splits:
        return {
            f"{name}/{split}": rows
            for name, table in tables.items()
            for split, rows in _divided(list(_rows(files[table.file], table))).items()
        }

    return convert


def _divided(rows: list[dict[str, Any]]) -> dict[str, Rows]:
    drawn = np.random.default_rng(SPLIT_SEED).permutation(len(rows))
    parts = np.split(drawn, [int(TRAIN * len(rows)), int(HELD_OUT * len(rows))])
    return {
        split: columns_of([rows[row] for row in sorted(part.tolist())])
        for split, part in zip(SPLITS, parts, strict=True)
    }


def _rows(path: Path, table: NumberTable) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        names = list(reader.fieldnames or ())
        missing = [name for name in (*table.features, table.target) if name not in names]
        if missing:
            raise RawFileError(f"{path.name} has the columns {names}; expected {missing[0]!r}")
        for number, line in enumerate(reader):
            if line[table.target] == table.target:
                return  # an earlier commit of Parkinson's has the whole file twice, one copy after the other
            features = [_number(path, number, line, name) for name in table.features]
            target = _number(path, number, line, table.target)
            yield {"row": number, "x": features or [float(number)], "y": target}


def _number(path: Path, row: int, line: Mapping[str, str | None], column: str) -> float:
    text = line[column]
    try:
        return float(text or "")
    except ValueError as error:
        raise RawFileError(f"{path.name}, row {row}, column {column!r}: {text!r}; expected a number") from error
