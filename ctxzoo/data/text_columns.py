"""Columns of texts: how they are found in a table, and what is checked of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import get_reading_notes, record_note, skip_or_raise
from ctxzoo.data.row_files import DELIMITED
from ctxzoo.data.sources import cast_to_plain_type
from ctxzoo.data.text_files import get_unpacked_suffix

ColumnNames = str | Sequence[str] | None  # one, several, or a usual one
TEXT_COLUMNS = ("text", "sentence", "document", "content", "review")  # usual names


def list_column_names(columns: ColumnNames) -> tuple[str, ...]:
    """Return a list of column names from one name, several, or None."""
    return (columns,) if isinstance(columns, str) else tuple(columns or ())


def find_columns(
    location: str, present: Sequence[str], roles: Mapping[str, tuple[ColumnNames, Sequence[str]]]
) -> list[list[str]]:
    """Return the names of the columns to read: for each role the requested one, or the first usual name present.

    Args:
        location: Name of the data in error messages.
        present: Names of the columns that the data has.
        roles: Each role, such as "text", to the column names that the user requested (or None) and the usual names.

    Raises:
        TextFormatError: Some are not there; the message names all of them.
    """
    found_columns, missing, options = [], [], []
    for role, (requested, usual) in roles.items():
        names = list(list_column_names(requested))
        if not names:
            named = [name for name in usual if name in present]
            names, others = named[:1], named[1:]
            change = f"columns could hold the {role} too, {', '.join(map(repr, others))}; read is {', '.join(names)!r}"
            record_note(location, change, len(others))
            absent = "" if names else f"no column of the usual names {', '.join(usual)}"
        else:
            absent = ", ".join(f"no column {name!r}" for name in names if name not in present)
        if absent:
            missing.append(f"{absent} for the {role}")
            options.append(f"`{role}_column`")
        found_columns.append(names)
    if missing:
        header = ", which its first line says" if get_unpacked_suffix(Path(location)) in DELIMITED else ""
        raise TextFormatError(
            f"{location}: {', and '.join(missing)}; rename one of {list(present)}{header} (or set {', '.join(options)})"
            f"{' (or set `no_header`, where that is a row)' if header and not get_reading_notes().no_header else ''}"
        )
    return found_columns


class TextsOfRows:
    """Gives the text of each row of a user's file.

    Args:
        requested: Column names, one or several; None: the first of the usual names that the data has.
    """

    def __init__(self, requested: ColumnNames) -> None:
        self.requested = requested
        self.names: list[str] = []
        self.rows = 0

    def __call__(self, rows: Sequence[Mapping[str, Any]], location: str, are_lines: bool) -> list[str | None]:
        """Return the texts of these rows; several text columns are joined by `join_texts`.

        A row that holds something else than a text, or a blank one, is left out as None where `skip_or_raise` allows
        it.

        Args:
            rows: Rows, each from column name to value.
            location: Name of the data in error messages.
            are_lines: Whether each row is a line of text, whatever column was requested.

        Raises:
            TextFormatError: A column is missing; a row is bad.
        """
        if not self.names:
            requested = None if are_lines else self.requested
            self.names = find_columns(location, list(rows[0]), {"text": (requested, TEXT_COLUMNS)})[0]
        texts: list[str | None] = []
        for row in rows:
            parts = [row.get(name) for name in self.names]
            values: list[Any] = [part or "" if len(parts) > 1 else part for part in parts]
            if not all(isinstance(part, str) for part in values) or not any(map(str.strip, values)):
                contents = ", ".join(
                    f"{str(part)[:40]!r} in {name!r}" for name, part in zip(self.names, parts, strict=True)
                )
                place = f"{location}, row {self.rows}"
                skip_or_raise(place, TextFormatError(f"{place}: {contents}; expected a text, or leave the row out"))
                texts.append(None)
            else:
                texts.append(join_texts(values) if len(values) > 1 else values[0])
            self.rows += 1
        return texts


def join_texts(parts: Iterable[str]) -> str:
    """Return the texts of several columns as one, each on a line of its own, without blank ones."""
    return "\n".join(part for part in parts if part.strip())


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
