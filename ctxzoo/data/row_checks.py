"""Checks of the rows of a table, and its columns of texts as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import skip_or_raise
from ctxzoo.data.sources import cast_to_plain_type
from ctxzoo.data.text_columns import join_texts


def join_text_columns(checks: RowChecks, table: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    """Return the text of each row, (rows,) strings, from one column or several, joined by `join_texts`.

    Raises:
        TextFormatError: see `read_text_column`; of several columns a row may have nothing in some.
    """
    if len(names) == 1:
        return read_text_column(checks, table, names[0])
    plain = {name: cast_to_plain_type(table.column(name)) for name in names}
    filled = {name: pc.fill_null(one, "") if one.type == pa.string() else one for name, one in plain.items()}
    columns = [read_text_column(checks, pa.table(filled), name).to_pylist() for name in names]
    return pa.chunked_array([pa.array(map(join_texts, zip(*columns, strict=True)), pa.string())])


class RowChecks:
    """Checks of the rows of some data: a bad row is an error, or left out where the user asked for that.

    Args:
        location: Name of the data in error messages.
        number: Number of rows.
        rows: (rows,) names of the rows in messages; default: their numbers, from 0. Rows keep theirs when others are
            left out.

    Attributes:
        kept: (rows,) booleans, True for rows that have not been left out.
    """

    def __init__(self, location: str, number: int, rows: npt.NDArray[np.int64] | None = None) -> None:
        self.location = location
        self.rows = np.arange(number) if rows is None else rows
        self.kept: npt.NDArray[np.bool_] = np.ones(number, np.bool_)

    def refuse_rows(self, bad: Any, values: Any, reason: str | Callable[[int], str]) -> None:
        """Leave the rows where `bad` is True out, if the user allowed that, or raise an error that names the first.

        Args:
            bad: (rows,) booleans, True or null for a row to refuse.
            values: (rows,) values of the rows that the message may quote, an Arrow column.
            reason: What is wrong, as text that may contain {value}, or as a function of the row's number.

        Raises:
            TextFormatError: there is such a row; the message names it, from 0.
        """
        if isinstance(bad, (pa.Array, pa.ChunkedArray)):
            bad = np.asarray(pc.fill_null(bad, True))
        for row in np.flatnonzero(bad & self.kept).tolist():
            location = f"{self.location}, row {self.rows[row]}"
            problem = reason.format(value=values[row].as_py()) if isinstance(reason, str) else reason(row)
            skip_or_raise(location, TextFormatError(f"{location}: {problem}"))
            self.kept[row] = False

    def select_kept_rows(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a column without the rows that were left out."""
        return column if self.kept.all() else column.filter(pa.array(self.kept))


def read_text_column(checks: RowChecks, table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column of texts, (rows,) strings; rows that hold nothing are refused.

    Raises:
        TextFormatError: it holds something else, or, unless they are left out, a row holds nothing.
    """
    texts = cast_to_plain_type(table.column(name))
    if texts.type != pa.string():
        raise TextFormatError(f"{checks.location}: column {name!r} has the type {texts.type}; expected text")
    checks.refuse_rows(pc.is_null(texts), texts, f"no text in column {name!r}; leave the row out")
    return texts


def find_blank_texts(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return booleans, True where a text is empty or only white space."""
    return pc.equal(pc.binary_length(pc.utf8_trim_whitespace(texts)), 0)
