"""Columns of texts: how they are found in a table, and what is checked of each row."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.sources import plain_column

TEXT_COLUMNS = ("text", "sentence", "document", "content", "review")  # usual names


def find_column(where: str, present: Sequence[str], what: str, requested: str | None, usual: Sequence[str]) -> str:
    """Return the name of a column: the one that is requested, or the first of the usual names that is there.

    Args:
        where: what messages call the data.
        present: names of the columns.
        what: the column holds, "text" or the like.
        requested: name; None: a usual one.
        usual: names.

    Raises:
        TextFormatError: there is none.
    """
    for name in usual if requested is None else [requested]:
        if name in present:
            return name
    missing = f"no column of the usual names {', '.join(usual)}" if requested is None else f"no column {requested!r}"
    header = ", which its first line says" if where.endswith((".csv", ".tsv")) else ""
    raise TextFormatError(
        f"{where}: {missing} for the {what}; rename one of {list(present)}{header} (or set `{what}_column`)"
    )


def texts_of(where: str, table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column of texts, (rows,) strings.

    Raises:
        TextFormatError: it holds something else, or a row holds nothing; the message names the row, from 0.
    """
    texts = plain_column(table.column(name))
    if texts.type != pa.string():
        raise TextFormatError(f"{where}: column {name!r} has the type {texts.type}; expected text")
    refuse_row(where, pc.is_null(texts), texts, f"no text in column {name!r}; leave the row out")
    return texts


def are_blank(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return of each text whether it is empty or white space alone."""
    return pc.equal(pc.binary_length(pc.utf8_trim_whitespace(texts)), 0)


def refuse_row(where: str, bad: pa.ChunkedArray, values: pa.ChunkedArray, reason: str) -> None:
    """Raise for the first row for which `bad` is true.

    Args:
        where: what messages call the data.
        bad: (rows,) truth values.
        values: (rows,) what the rows hold.
        reason: may hold {value}.

    Raises:
        TextFormatError: there is such a row; the message names it, from 0.
    """
    row = pc.index(bad, True).as_py()
    if row >= 0:
        raise TextFormatError(f"{where}, row {row}: {reason.format(value=values[row].as_py())}")
