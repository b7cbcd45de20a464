"""Events of users at times: from files with one row for each event, and from datasets whose rows are lists of them."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.row_files import read_delimited, read_parquet, with_times
from ctxzoo.data.sources import DatasetFileError, load_splits, plain_column
from ctxzoo.data.text_files import file_kind

EVENT_FILES = (".csv", ".tsv", ".parquet")
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
    """Return the rows of a file, users and items as text where they are set apart by commas or tabs.

    Raises:
        DatasetFileError: another kind of file, or one that cannot be read.
        OSError: it cannot be read.
    """
    kind = file_kind(path)
    if kind not in EVENT_FILES:
        raise DatasetFileError(f"{path} is no {', '.join(EVENT_FILES)} file; name one, a folder, or a Hub id")
    if kind == ".parquet":
        return read_parquet(path)
    return with_times(read_delimited(path, (columns.user, columns.item, columns.time)), columns.time)


def histories_of_events(where: str, table: pa.Table, columns: EventColumns, otherwise: str) -> Histories:
    """Return the events of each user of a table with one row for each event.

    Args:
        where: what errors call the table.
        table: its rows.
        columns: of it.
        otherwise: what errors say of another form in which the data could be given.

    Raises:
        TextFormatError: a column is missing, or has a row with nothing in it; times that are none; no rows.
    """
    for name in (columns.user, columns.item, columns.time):
        if name not in table.column_names:
            raise TextFormatError(
                f"{where}: no column {name!r}; there are {table.column_names}. Name those of users, items and times, "
                f"{otherwise}"
            )
        column = table.column(name)
        empty = pc.equal(column, "") if pa.types.is_string(column.type) else column.is_null()
        missing = pc.index(pc.fill_null(empty, True), True).as_py()
        if missing >= 0:
            raise TextFormatError(f"{where}, row {missing}: nothing in {name!r}; fill it in or leave the row out")
    if table.num_rows == 0:
        raise TextFormatError(f"{where}: no rows; expected at least one event")
    times = table.column(columns.time)
    seconds = _numbers(f"{where}: column {columns.time!r}", times)
    users, items = (table.column(name).cast(pa.string()).to_pylist() for name in (columns.user, columns.item))
    of_users: dict[str, tuple[list[str], list[float]]] = {user: ([], []) for user in users}
    for row in pc.sort_indices(times).to_pylist():
        of_user = of_users[users[row]]
        of_user[0].append(items[row])
        of_user[1].append(seconds[row])
    return Histories(list(of_users), [names for names, _ in of_users.values()], [at for _, at in of_users.values()])


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
    if any(isinstance(value, str) for value in values):
        rows = "\n".join('"' + str(value).replace('"', "'") + '"' for value in values)
        column = pa.csv.read_csv(io.BytesIO(f"time\n{rows}\n".encode())).column(0)
    else:
        try:
            column = pa.chunked_array([pa.array(values, from_pandas=False)])
        except pa.ArrowException:
            column = pa.chunked_array([pa.array([str(value) for value in values])])
    if column.null_count:
        raise TextFormatError(f"timestamps: {values[column.is_null().index(True).as_py()]!r} is no time")
    return _numbers("timestamps", column)


def _numbers(where: str, times: pa.ChunkedArray) -> list[float]:
    """Return numbers as they are, and dates and times as seconds since 1970.

    Raises:
        TextFormatError: another type, or a number that is not finite.
    """
    if pa.types.is_date(times.type) or pa.types.is_timestamp(times.type):
        micro = times.cast(pa.timestamp("us", tz=getattr(times.type, "tz", None))).cast(pa.int64())
        return [value / MICROSECONDS for value in micro.to_pylist()]
    if not (pa.types.is_integer(times.type) or pa.types.is_floating(times.type)):
        raise TextFormatError(
            f"{where} begins with {str(times[0])!r}, which is no time or stands beside others that are none; expected "
            "numbers, such as seconds, or dates and times as 2024-01-31 18:05:00"
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
        TextFormatError: the table has no such columns.
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
    names = [str(name) for name in table[column]]
    count = Counter(names)
    return {
        item: name if count[name] == 1 else f"{name} [{item}]"
        for item, name in zip(table[id_column], names, strict=True)
    }


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
