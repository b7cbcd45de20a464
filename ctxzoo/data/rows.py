"""Rows on their way from a source to a model, and columns of them, in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

CHUNK = 1000  # rows
BLOCK = 100_000  # rows of a column that are decoded or hashed in one call
LINES, DATASET = "txt", "dataset"
SEPARATORS = {"csv": ",", "tsv": "\t"}
KINDS = (*SEPARATORS, "jsonl", "parquet", LINES)
TEXT = "text"  # the column of a file of one text a line
Row = dict[str, Any]


@dataclass(frozen=True)
class RowStream:
    """Rows that are read while they are used.

    Attributes:
        name: Name of the source in messages.
        kind: Format of the source: one of `KINDS`, or "dataset" for a folder.
        chunks: Rows in lists of at most `CHUNK`, each from column name to value; a file with one text a line has the
            column `text`.
    """

    name: str
    kind: str
    chunks: Iterator[list[Row]]


def build_row_stream(name: str, rows: Iterable[Row]) -> RowStream:
    """Return a stream of rows that a task's own reader has read."""
    return RowStream(name, DATASET, chunk_rows(iter(rows)))


def chunk_rows(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Yield the rows in lists of `CHUNK`."""
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


def iterate_column(column: Sequence[Any]) -> Iterator[Any]:
    """Yield the values of a column of a dataset, which decodes them one by one, and slowly, where it is iterated."""
    for begin in range(0, len(column), BLOCK):
        yield from column[begin : begin + BLOCK]
