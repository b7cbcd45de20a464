"""Texts with labels from a stream: how rows larger than memory are checked and divided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import datasets
import pyarrow as pa

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import collect_reading_notes, note_similar_labels
from ctxzoo.data.stream_pass import Keys, StreamReader, hash_texts
from ctxzoo.data.text_columns import TEXT_COLUMNS, ColumnNames, find_columns, list_column_names
from ctxzoo.tasks.text_classification.label_sets import note_joined_labels
from ctxzoo.tasks.text_classification.reader import (
    LABEL_COLUMNS,
    build_labelled_texts,
    check_text_rows,
    refuse_numeric_texts,
)


@dataclass(kw_only=True)
class TextStreamReader(StreamReader):
    """Reads texts with one label each, or with several.

    Args:
        text_column, label_column, label_separator, label_columns: Where texts and labels stand, as in `read_texts`.
    """

    text_column: ColumnNames = None
    label_column: str | None = None
    label_separator: str | None = None
    label_columns: Sequence[str] | None = None
    _found: dict[str, Any] = field(default_factory=dict, repr=False)

    unit, together = "texts", "equal texts"
    from_sample = "the vocabulary, the linear part and simple models beside it"
    samples_every_name = True

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the columns that are read, for .csv and .tsv files."""
        texts = list_column_names(self.text_column) or TEXT_COLUMNS[:1]
        return (*texts, *(self.label_columns or (self.label_column or LABEL_COLUMNS[0],)))

    def describe(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "_found"}

    def check(self, location: str, rows: datasets.Dataset) -> pa.Table:
        table = check_text_rows(location, rows, **{**self.describe(), **self._found})
        if not self._found:  # later rows are read by these names, and notes on their choice are made once
            wanted: dict[str, tuple[ColumnNames, Sequence[str]]] = {"text_column": (self.text_column, TEXT_COLUMNS)}
            if not self.label_columns:
                wanted["label_column"] = (self.label_column, LABEL_COLUMNS)
            with collect_reading_notes():
                names = find_columns(location, rows.column_names, wanted)
            self._found = {"text_column": names[0], **({"label_column": names[1][0]} if len(names) > 1 else {})}
        return table

    def hash_rows(self, rows: pa.Table) -> Keys:
        return hash_texts(rows.column("text").to_pylist())

    def list_names(self, rows: pa.Table) -> pa.ChunkedArray:
        return rows.column("label")

    def check_names(self, location: str, names: Sequence[str]) -> None:
        if len(names) < 2:
            only = f"the only label is {names[0]!r}" if names else "no text has a label"
            raise TextFormatError(f"{location}: {only}; expected two or more")
        note_similar_labels(location, names)
        note_joined_labels(location, names)

    def build_whole(self, rows: pa.Table, names: Sequence[str]) -> datasets.Dataset:
        refuse_numeric_texts("the data", rows.column("text").to_pylist())
        return build_labelled_texts(rows, names)
