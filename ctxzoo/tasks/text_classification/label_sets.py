"""Several labels a text: read from lists, cells such as "a;b", or columns of 0 and 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import datasets
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.formats import LABEL_SEPARATORS, TextFormatError
from ctxzoo.data.own_splits import count_label_rows
from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.row_checks import RowChecks
from ctxzoo.data.sources import cast_to_plain_type

BALANCED = "balanced"
_OF_CELLS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
_LISTS = pa.list_(pa.string())


def is_list_of_labels(feature: Any) -> bool:
    """Return whether a column of `datasets` holds lists, so that a text has any number of labels."""
    return isinstance(feature, (list, datasets.List, datasets.LargeList))


def read_label_lists(checks: RowChecks, split: datasets.Dataset, name: str) -> tuple[pa.ChunkedArray, list[str] | None]:
    """Read a column of lists.

    Args:
        checks: Checks of the rows, in which bad rows are left out or an error.
        split: Rows of a split.
        name: Name of the column with lists of names, of numbers, or of classes.

    Returns:
        (rows,) lists of names, each once; and the names of the classes, where the column has such.

    Raises:
        TextFormatError: a list that is missing, or has something else in it.
    """
    feature = split.features[name]
    of_entries = feature[0] if isinstance(feature, list) else feature.feature
    class_names = list(of_entries.names) if isinstance(of_entries, datasets.ClassLabel) else None
    column = split.with_format("arrow")[:].column(name)
    missing = f"no list of labels in column {name!r}; write [] for a text without labels, or leave the row out"
    checks.refuse_rows(column.is_null(), column, missing)
    lists = [None if row is None else [_name_entry(entry, class_names) for entry in row] for row in column.to_pylist()]
    bad = np.array([row is not None and None in row for row in lists], np.bool_)
    expected = "names or whole numbers" if class_names is None else f"0..{len(class_names) - 1} for {class_names}"
    checks.refuse_rows(bad, column, f"the labels in column {name!r} are {{value}}; expected a list of {expected}")
    sets, is_declared = _drop_repeated_labels(checks, lists), class_names is not None
    if not is_declared:
        what = f"texts have a list of labels in column {name!r}: several labels a text"
        record_note(checks.location, what, len(lists))
        note_empty_sets(checks, sets)
    return sets, class_names


def split_label_cells(checks: RowChecks, split: datasets.Dataset, name: str, separator: str) -> pa.ChunkedArray:
    """Split cells such as "a;b" at a separator into (rows,) lists of names; an empty cell is a text without labels.

    Args:
        checks: Checks of the rows.
        split: Rows of a split.
        name: Name of the column of labels.
        separator: Sign or signs between two labels.

    Raises:
        TextFormatError: a column of another type than text and whole numbers.
    """
    column = cast_to_plain_type(split.with_format("arrow")[:].column(name))
    if not (pa.types.is_string(column.type) or pa.types.is_integer(column.type) or pa.types.is_null(column.type)):
        raise TextFormatError(
            f"{checks.location}: column {name!r} has the type {column.type}, which {separator!r} does not separate; "
            "expected text (or leave `label_separator` out)"
        )
    parts = [(cell or "").split(separator) for cell in column.cast(pa.string()).to_pylist()]
    lists = [[part.strip() for part in row if part.strip()] for row in parts]
    several = sum(len(row) > 1 for row in lists)
    record_note(checks.location, f"texts have several labels in column {name!r}, separated by {separator!r}", several)
    if not several:
        record_note(checks.location, f"texts, none of which has {separator!r} in column {name!r}", len(lists))
        note_joined_labels(checks.location, sorted({label for row in lists for label in row}))
    sets = _drop_repeated_labels(checks, lists)
    note_empty_sets(checks, sets)
    return sets


def read_label_columns(checks: RowChecks, split: datasets.Dataset, names: Sequence[str]) -> pa.ChunkedArray:
    """Read columns of 0 and 1, one for each label, into (rows,) lists of names.

    Args:
        checks: Checks of the rows.
        split: Rows of a split.
        names: Names of the columns.

    Raises:
        TextFormatError: a column is missing, or a cell is neither 0 nor 1, true nor false.
    """
    missing = [name for name in names if name not in split.column_names]
    if missing or len(set(names)) < len(names):
        problem = f"no column {missing[0]!r} for a label" if missing else f"label columns {list(names)}, one twice"
        raise TextFormatError(f"{checks.location}: {problem}; it has {split.column_names} (or set `label_columns`)")
    table = split.with_format("arrow")[:]
    lists: list[list[str] | None] = [[] for _ in range(len(split))]
    for name in names:
        cells = table.column(name)
        marks = [_OF_CELLS.get(str(cell).strip().lower()) for cell in cells.to_pylist()]
        bad = np.array([mark is None for mark in marks], np.bool_)
        checks.refuse_rows(bad, cells, f"{{value!r}} in label column {name!r}; expected 0 or 1, or leave the row out")
        for row, mark in zip(lists, marks, strict=True):
            if mark and row is not None:
                row.append(name)
    sets = _drop_repeated_labels(checks, lists)
    note_empty_sets(checks, sets)
    return sets


def find_mark_columns(split: datasets.Dataset, number: int = 1_000) -> list[str]:
    """Return the names of the columns that hold nothing but 0 and 1, or true and false, in the first rows."""
    rows = split.select(range(min(number, len(split)))).with_format("arrow")[:]
    return [
        name
        for name in split.column_names
        if {str(cell).strip().lower() for cell in rows.column(name).to_pylist()} <= _OF_CELLS.keys()
    ]


def _name_entry(entry: Any, class_names: Sequence[str] | None) -> str | None:
    """Return the name of one entry of a list; None for what is none."""
    if class_names is not None:
        return class_names[entry] if entry is not None and 0 <= entry < len(class_names) else None
    if isinstance(entry, float) and entry.is_integer():
        entry = int(entry)
    return str(entry) if isinstance(entry, int) or (isinstance(entry, str) and entry.strip()) else None


def _drop_repeated_labels(checks: RowChecks, lists: Sequence[Sequence[str | None] | None]) -> pa.ChunkedArray:
    """Return the lists of names of kept rows as an Arrow column, each name once; say how many were there twice."""
    kept = [row for row, keep in zip(lists, checks.kept, strict=True) if keep and row is not None]
    sets = [list(dict.fromkeys(row)) for row in kept]
    twice = sum(map(len, kept)) - sum(map(len, sets))
    record_note(checks.location, "labels written twice for one text, counted once", twice)
    return pa.chunked_array([pa.array(sets, _LISTS)])


def note_empty_sets(checks: RowChecks, sets: pa.ChunkedArray) -> None:
    """Record a note on how many texts have no label."""
    empty = pc.sum(pc.equal(pc.list_value_length(sets), 0)).as_py()
    record_note(checks.location, "texts without any label, read as such", empty or 0)


def list_label_names(columns: Iterable[pa.ChunkedArray]) -> list[str]:
    """Return all names in columns of lists, in the order of their numbers, or else of the alphabet."""
    names = {name for column in columns for name in column.combine_chunks().flatten().unique().to_pylist()}
    if all(name.lstrip("-").isdecimal() for name in names):
        return sorted(names, key=int)
    return sorted(names)


def find_separator(names: Sequence[str]) -> str | None:
    """Return the sign with which labels look like several in one, as in "a;b", "b;c"; None where there is none.

    Half of what the sign separates must stand in more than one label.
    """
    for separator in LABEL_SEPARATORS:
        parts = [set(map(str.strip, name.split(separator))) for name in names]
        counts = Counter(part for of_name in parts for part in of_name)
        joined = {part for of_name in parts if len(of_name) > 1 for part in of_name}
        if joined and 2 * sum(counts[part] > 1 for part in joined) >= len(joined):
            return separator
    return None


def note_joined_labels(location: str, names: Sequence[str]) -> None:
    """Record a note on labels that look like several in one, and how several are read."""
    lists = [name for name in names if name.startswith("[") and name.endswith("]")]
    separator = None if lists else find_separator(names)
    joined = lists or [name for name in names if separator and separator in name]
    if joined:
        how = f"--label_separator '{separator or ';'}'"
        said = f"write {joined[0][:40]!r} as a;b and set {how}, or as lists in .jsonl" if lists else f"set {how}"
        what = f"labels such as {joined[0][:40]!r} are each read as one label; for several labels a text {said}"
        record_note(location, what, len(joined))


def parse_class_weights(given: Sequence[str], names: Sequence[str], labels: npt.NDArray[Any]) -> list[float]:
    """Return the weight of each label, in the order of their names.

    Args:
        given: "balanced" alone, or pairs such as "spam:5"; labels that are not named have the weight 1.
        names: Names of the labels.
        labels: (rows,) class of each training row; or (rows, L) 0 and 1. Balanced weights are rows / (L * rows of the
            label), so that each label counts as much as others; of several labels a text, rows without the label /
            rows with it, so that each label counts as much as its absence.

    Raises:
        ValueError: a label that there is not, or twice; a weight that is no number above 0.
    """
    counts = np.maximum(count_label_rows(labels, len(names)), 1)
    if list(given) == [BALANCED]:
        balanced = (len(labels) - counts) / counts if labels.ndim == 2 else len(labels) / (len(names) * counts)
        return [max(float(weight), 1 / len(labels)) for weight in balanced]
    weights: dict[str, float] = {}
    for pair in given:
        name, colon, number = pair.rpartition(":")
        try:
            weight = float(number)
        except ValueError:
            weight = 0.0
        if not colon or name not in names or name in weights or not 0 < weight < float("inf"):
            shown = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
            raise ValueError(
                f"class_weights={pair!r}: expected {BALANCED}, or each label once with a weight above 0, such as "
                f"{names[0]}:2; the labels are {shown}"
            )
        weights[name] = weight
    return [weights.get(name, 1.0) for name in names]
