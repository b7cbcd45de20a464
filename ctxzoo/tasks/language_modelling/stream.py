"""Lines of text from a stream: how they are checked and divided, and how many words a block of them has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from tokenizers import Tokenizer

from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.data.stream_pass import Keys, StreamReader, hash_texts
from ctxzoo.data.text_columns import TEXT_COLUMNS, ColumnNames, find_columns, list_column_names
from ctxzoo.data.text_encoding import count_words
from ctxzoo.tasks.language_modelling.reader import FILE_KINDS, TEXT, check_line_rows

if TYPE_CHECKING:
    import datasets


class LineStreamReader(StreamReader):
    """Reads lines of text.

    Args:
        text_column: Name of the text column, or several to join, as in `read_lines`.
        pre_tokenizer: Backend that cuts lines into words as the tokenizer of the model does.
        settings: What decides how words are counted, by name.
    """

    unit, together = "lines", "equal lines"
    from_sample = "the vocabulary and the simple model beside it"
    kinds = FILE_KINDS

    def __init__(self, text_column: ColumnNames, pre_tokenizer: Tokenizer, settings: dict[str, Any]) -> None:
        self.text_column, self.pre_tokenizer, self.settings = text_column, pre_tokenizer, settings
        self.columns = tuple(list_column_names(text_column)) or (TEXT,)
        self._found: ColumnNames = None

    def describe(self) -> dict[str, Any]:
        return {"text_column": self.text_column, **self.settings}

    def check(self, location: str, rows: datasets.Dataset) -> pa.Table:
        texts = check_line_rows(location, rows, self._found or self.text_column)
        if self._found is None:  # later rows are read by these names, and notes on their choice are made once
            with collect_reading_notes():
                self._found = find_columns(location, rows.column_names, {TEXT: (self.text_column, TEXT_COLUMNS)})[0]
        return pa.table({TEXT: texts})

    def hash_rows(self, rows: pa.Table) -> Keys:
        return hash_texts(rows.column(TEXT).to_pylist())

    def measure(self, rows: pa.Table) -> int:
        """Return the number of words of lines, an end mark behind each."""
        return int(count_words(self.pre_tokenizer, rows.column(TEXT).to_pylist()).sum()) + len(rows)
