"""Sequences from a stream: how lists in rows are checked, divided, and cut into pieces before they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.stream_pass import Keys, StreamReader, hash_texts
from ctxzoo.tasks.sequences.kinds import FIRST_TARGET, SequenceKind
from ctxzoo.tasks.sequences.reader import check_sequence_rows

if TYPE_CHECKING:
    import datasets


class SequenceStreamReader(StreamReader):
    """Reads one sequence in each row, as lists; training reads it in pieces.

    Args:
        kind: Kind of sequence: sessions of items, or histories of timed events.
        max_length: Largest number of previous items or events that a prediction reads.
    """

    kinds = (".jsonl", ".parquet")

    def __init__(self, kind: SequenceKind, max_length: int) -> None:
        self.kind, self.max_length = kind, max_length
        self.unit, self.together = kind.several, f"equal {kind.several}"
        self.from_sample = "simple models beside it" if len(kind.columns) == 1 else "the unit of time and simple models"

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind.one, "max_length": self.max_length}

    def check(self, location: str, rows: datasets.Dataset) -> pa.Table:
        if self.kind.columns[0] not in rows.column_names:
            raise TextFormatError(
                f"{location}: no column {self.kind.columns[0]!r}; there are {rows.column_names}. A stream has one "
                f"{self.kind.one} in each row, {self.kind.things} as a list; group a file of events by user first, or "
                "read it without streaming"
            )
        table: pa.Table = check_sequence_rows(self.kind, location, rows).with_format("arrow")[:]
        if FIRST_TARGET not in table.column_names:
            table = table.append_column(FIRST_TARGET, pa.array(np.ones(len(table), np.int64)))
        return table.select([*self.kind.columns, FIRST_TARGET])

    def hash_rows(self, rows: pa.Table) -> Keys:
        return hash_texts([" ".join(names) for names in rows.column(self.kind.columns[0]).to_pylist()])

    def list_names(self, rows: pa.Table) -> pa.ChunkedArray:
        return rows.column(self.kind.columns[0])

    def prepare_training(self, location: str, rows: pa.Table) -> pa.Table:
        """Return sequences in which something is predicted, long ones in pieces."""
        lengths = pc.list_value_length(rows.column(self.kind.columns[0])).to_numpy()
        first = rows.column(FIRST_TARGET).to_numpy()
        what = f"rows with one of the {self.kind.things} alone, in which nothing is predicted"
        record_note(location, what, int((lengths == 1).sum()))
        is_whole = (lengths > first) & (lengths <= self.max_length + 1)
        is_long = (lengths > first) & ~is_whole
        cut = f"{self.kind.several} of more than {self.max_length + 1} {self.kind.things}, read in pieces"
        record_note(location, f"{cut}, each counted as one of train", int(is_long.sum()))
        pieces = []
        for row in rows.filter(pa.array(is_long)).to_pylist():
            for start, end in list_pieces(len(row[self.kind.columns[0]]), row[FIRST_TARGET], self.max_length):
                lists = {name: row[name][start:end] for name in self.kind.columns}
                pieces.append({**lists, FIRST_TARGET: max(1, row[FIRST_TARGET] - start)})
        whole = rows.filter(pa.array(is_whole))
        return pa.concat_tables([whole, pa.Table.from_pylist(pieces, whole.schema)])


def list_pieces(length: int, first: int, max_length: int) -> list[tuple[int, int]]:
    """Return begin and end of the pieces of a sequence in which something is predicted, from element `first` on.

    Where so few are predicted that one piece holds them, it is the last one, so that they see as many as they can.

    Args:
        length: Number of elements of the sequence.
        first: Number of the first element that is predicted, from 0.
        max_length: Largest number of previous elements that a prediction reads.
    """
    if first > 1 and length - first <= max_length:
        return [(max(0, length - max_length - 1), length)] if length > first else []
    starts = range(0, length - 1, max_length)
    ends = [min(length, start + max_length + 1) for start in starts]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if end > first]
