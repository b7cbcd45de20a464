"""Columns of texts: how they are found among others, and the text of a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import get_reading_notes, record_note, skip_or_raise
from ctxzoo.data.text_files import DELIMITED, get_unpacked_suffix

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
