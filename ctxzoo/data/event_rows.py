"""Events of users at times: from files with one row for each event, and from rows that are lists of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import leave_out, note
from ctxzoo.data.row_files import (
    as_text,
    read_delimited,
    read_json_lines,
    read_parquet,
    table_of_objects,
    with_times,
)
from ctxzoo.data.sources import DatasetFileError, load_splits, plain_column, plain_type
from ctxzoo.data.text_files import file_kind

EVENT_FILES = (".csv", ".tsv", ".jsonl", ".parquet")
TIMES_AS = "numbers, such as seconds, or dates and times as 2024-01-31 18:05:00"
ONE = {"numbers": "a number", "dates and times": "a date", "times with a zone": "a time with a zone"}
MICROSECONDS = 1e6  # in a second


@dataclass(frozen=True)
class EventColumns:
    """The columns of a file of events, one row for each item of a user at a time.

    Attributes:
        user, item: any values, which are read as text.
        time: numbers, dates or times; events of one user at the same time stay in the order of the file.
    """

    user: str = "user"
    item: str = "item"
    time: str = "time"


@dataclass(frozen=True)
class Histories:
    """The events of each user, in the order of time; users in the order of their first events.

    Attributes:
        users: names.
        items: of each user, the names of what was chosen.
        times: of each user, as given, or in seconds since 1970 where dates or times were given.
    """

    users: list[str]
    items: list[list[str]]
    times: list[list[float]]


def read_event_table(path: Path, columns: EventColumns) -> pa.Table:
    """Return the rows of a file, in which times that are text are numbers, dates or times where all of them are.

    Raises:
        DatasetFileError: another kind of file, or one that cannot be read.
        OSError: it cannot be read.
    """
    kind = file_kind(path)
    if kind not in EVENT_FILES:
        raise DatasetFileError(f"{path} is no {', '.join(EVENT_FILES)} file; name one, a folder, or a Hub id")
    if kind == ".parquet":
        return with_times(read_parquet(path), columns.time)
    if kind == ".jsonl":
        return with_times(table_of_objects(read_json_lines(path)), columns.time)
    return with_times(read_delimited(path, (columns.user, columns.item, columns.time)), columns.time)


def histories_of_events(where: str, table: pa.Table, columns: EventColumns, otherwise: str) -> Histories:
    """Return the events of each user of a table with one row for each event.

    Users and items are text, as the file writes them. A row in which one of the three is missing, or whose time is
    none or of another kind than most (a number among dates), is an error; with `--skip_bad` it is left out. Events of
    a user at one time are counted by `note`.

    Args:
        where: what errors call the table.
        table: its rows.
        columns: of it.
        otherwise: what errors say of another form in which the data could be given.

    Raises:
        TextFormatError: a column is missing, or has a row with nothing in it; times that are none; no rows.
    """
    names = (columns.user, columns.item, columns.time)
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise TextFormatError(
            f"{where}: no column {' and no '.join(map(repr, missing))}; there are {table.column_names}. Name those of "
            f"users, items and times, {otherwise}"
        )
    number = table.num_rows
    is_good = np.ones(number, bool)
    for name in names:
        column = table.column(name)
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        empty = pc.equal(pc.utf8_trim_whitespace(column), "") if text else pc.is_null(column, nan_is_null=True)
        for row in np.flatnonzero(pc.fill_null(empty, True).to_numpy(zero_copy_only=False) & is_good).tolist():
            is_good[row] = False
            place = f"{where}, row {row}"
            leave_out(place, TextFormatError(f"{place}: nothing in {name!r}; fill it in or leave the row out"))
    for row, problem in _odd_times(table.column(columns.time), is_good):
        is_good[row] = False
        place, value = f"{where}, row {row}", str(table.column(columns.time)[row])
        leave_out(place, TextFormatError(f"{place}: the time is {value!r}{problem}"))
    table = with_times(table.filter(pa.array(is_good)), columns.time)
    if table.num_rows == 0:
        raise TextFormatError(f"{where}: no rows; expected at least one event")
    seconds = times_as_numbers(f"{where}: column {columns.time!r}", table.column(columns.time))
    users, items = (table.column(name).cast(pa.string()).to_pylist() for name in (columns.user, columns.item))
    of_users: dict[str, tuple[list[str], list[float]]] = {user: ([], []) for user in users}
    for row in np.argsort(np.array(seconds), kind="stable").tolist():
        of_user = of_users[users[row]]
        of_user[0].append(items[row])
        of_user[1].append(seconds[row])
    read = Histories(list(of_users), [names for names, _ in of_users.values()], [at for _, at in of_users.values()])
    together = sum(one == next_one for times in read.times for one, next_one in pairwise(times))
    note(where, "events at the time of the one before them of their user, in the order of the file", together)
    return read


def _odd_times(times: pa.ChunkedArray, is_good: npt.NDArray[np.bool_]) -> Iterable[tuple[int, str]]:
    """Yield the good rows whose time is none, or of another kind than most, and what is wrong with each."""
    if pa.types.is_floating(times.type):
        finite = np.isfinite(times.to_numpy(zero_copy_only=False).astype(np.float64))
        yield from ((row, f"; expected {TIMES_AS}") for row in np.flatnonzero(~finite & is_good).tolist())
    if not pa.types.is_string(times.type):
        return
    kinds = {row: _kind_of_time(times[row].as_py()) for row in np.flatnonzero(is_good).tolist()}
    known = Counter(kind for kind in kinds.values() if kind is not None)
    usual = known.most_common(1)[0][0] if known else None
    for row, kind in kinds.items():
        if kind is None:
            yield row, f"; expected {TIMES_AS}"
        elif kind != usual:
            yield row, f", {ONE[kind]}; most are {usual}: write it as they are or leave the row out"


def _kind_of_time(text: str) -> str | None:
    """Return what kind of time a text is, None where it is none; times of two kinds have no order."""
    try:
        return "numbers" if "_" not in text and math.isfinite(float(text)) else None
    except ValueError:
        kind = with_times(pa.table({"time": [text]}), "time").schema.field("time").type
    if not pa.types.is_timestamp(kind):
        return None
    return "dates and times" if kind.tz is None else "times with a zone"


def seconds_of(times: Sequence[Any]) -> list[float]:
    """Return times as a file of events with them in a column is read: numbers as they are, dates as seconds since 1970.

    Args:
        times: Numbers, dates and times of Python, numpy or pandas, or any of these as text.

    Raises:
        TextFormatError: no times, or a time that is missing or no finite number.
    """
    values = list(times)
    if not values:
        raise TextFormatError("timestamps: there are none; expected one for each event")
    try:
        column = pa.array(values, from_pandas=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        column = pa.array([as_text(value) for value in values])
    if column.null_count:
        raise TextFormatError(f"timestamps: {values[column.is_null().index(True).as_py()]!r} is no time")
    return times_as_numbers("timestamps", with_times(pa.table({"time": column}), "time").column(0))


def times_as_numbers(where: str, times: pa.ChunkedArray) -> list[float]:
    """Return numbers as they are, and dates and times as seconds since 1970.

    Raises:
        TextFormatError: another type, or a number that is not finite.
    """
    if pa.types.is_date(times.type) or pa.types.is_timestamp(times.type):
        micro = times.cast(pa.timestamp("us", tz=getattr(times.type, "tz", None))).cast(pa.int64())
        return [value / MICROSECONDS for value in micro.to_pylist()]
    if not (pa.types.is_integer(times.type) or pa.types.is_floating(times.type)):
        raise TextFormatError(
            f"{where} begins with {str(times[0])!r}, which is no time or stands beside times of another kind; "
            f"expected {TIMES_AS}"
        )
    found = [float(value) for value in times.to_pylist()]
    odd = next((value for value in found if not math.isfinite(value)), None)
    if odd is not None:
        raise TextFormatError(f"{where} holds {odd}; expected finite numbers: fill it in or leave the row out")
    return found


def names_of_ids(
    dataset: str, data_dir: str | None, *, config: str, id_column: str, name_columns: Sequence[str]
) -> dict[int, str] | None:
    """Return id to name, where a dataset has a table of names; what shares its name has its id behind it.

    Args:
        dataset, data_dir: see `load_splits`.
        config: of the table; None is returned where there is no such configuration.
        id_column: of the table.
        name_columns: columns that hold names, of which the first that is there is taken.

    Raises:
        TextFormatError: The table has no such columns, or an id twice.
    """
    try:
        table = load_splits(dataset, data_dir, config)["train"]
    except ValueError:  # there is no such configuration
        return None
    column = next((name for name in name_columns if name in table.column_names), None)
    if column is None or id_column not in table.column_names:
        raise TextFormatError(
            f"dataset {dataset!r}, configuration {config!r}: the columns are {table.column_names}; expected "
            f"{id_column!r}, and one of {', '.join(name_columns)}"
        )
    ids, names = table[id_column][:], [str(name) for name in table[column]]
    twice = next((item for item, number in Counter(ids).items() if number > 1), None)
    if twice is not None:
        raise TextFormatError(
            f"dataset {dataset!r}, configuration {config!r}: {id_column} {twice!r} stands there twice"
        )
    count = Counter(names)
    shared = sum(number for number in count.values() if number > 1)
    note(f"dataset {dataset!r}", f"names of the configuration {config!r} that others have too, with their ids", shared)
    return {item: name if count[name] == 1 else f"{name} [{item}]" for item, name in zip(ids, names, strict=True)}


def named_ids(lists: Sequence[Sequence[int]], where: str, names: dict[int, str], table: str) -> list[list[str]]:
    """Return lists of names in the place of lists of ids.

    Raises:
        TextFormatError: an id that has no name.
    """
    found = []
    for row, items in enumerate(lists):
        unknown = next((item for item in items if item not in names), None)
        if unknown is not None:
            raise TextFormatError(f"{where}, row {row}: item {unknown!r} is not in the table of {table}")
        found.append([names[item] for item in items])
    return found


def has_lists(table: pa.Table, name: str) -> bool:
    """Return whether a table has a column of lists of this name."""
    return name in table.column_names and pa.types.is_list(plain_type(table.schema.field(name).type))


def checked_lists(where: str, table: pa.Table, name: str) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """Return the lengths of a column of lists of names or ids, and their values one after another, as text.

    Raises:
        TextFormatError: no such column, one of another type, an empty list, or a value that is missing or empty.
    """
    if name not in table.column_names:
        raise TextFormatError(f"{where}: no column {name!r}; there are {table.column_names}")
    column = plain_column(table.column(name)).combine_chunks()
    inner = column.type.value_type if pa.types.is_list(column.type) else None
    if inner is None or not (pa.types.is_integer(inner) or pa.types.is_string(inner)):
        raise TextFormatError(
            f"{where}: column {name!r} has the type {column.type}; expected in each row a list of names or ids"
        )
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    if not lengths.all():
        raise TextFormatError(f"{where}, row {int(lengths.argmin())}: the session has no item; leave the row out")
    values = column.flatten().cast(pa.string())
    missing = pc.index(pc.fill_null(pc.equal(values, ""), True), True).as_py()
    if missing >= 0:
        row = int(np.searchsorted(np.cumsum(lengths), missing, side="right"))
        raise TextFormatError(f"{where}, row {row}: an item without a name; leave it out")
    return lengths, values


def lists_of(lengths: npt.NDArray[np.int64], values: pa.Array) -> pa.Array:
    """Return a column of lists of these lengths."""
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32()), values)
