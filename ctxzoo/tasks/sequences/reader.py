"""Reads sequences of named things, from datasets and from files of events, and checks everything in each of them."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.files import hash_strings
from ctxzoo.data.formats import SAMPLE, DatasetFileError, TextFormatError
from ctxzoo.data.notices import format_count
from ctxzoo.data.own_splits import RowGroups, number_groups_by_key
from ctxzoo.data.reading_notes import record_note, skip_or_raise
from ctxzoo.data.row_files import (
    build_table_from_dicts,
    convert_to_text,
    load_split_tables,
    parse_time_column,
    read_csv_or_tsv,
    read_json_lines,
    read_parquet,
)
from ctxzoo.data.rows import iterate_column
from ctxzoo.data.sources import cast_to_plain_type, dataset_fingerprint, load_splits, to_plain_arrow_type
from ctxzoo.data.text_files import get_unpacked_suffix
from ctxzoo.tasks.sequences.kinds import FIRST_TARGET, SESSIONS, TIMES, EventColumns, SequenceKind
from ctxzoo.tasks.sequences.sample import sample_histories, sample_sessions

if TYPE_CHECKING:
    import datasets

EVENT_FILES = (".csv", ".tsv", ".jsonl", ".parquet")
TIMES_AS = "numbers, such as seconds, or dates and times as 2024-01-31 18:05:00"
ONE = {"numbers": "a number", "dates and times": "a date", "times with a zone": "a time with a zone"}
MICROSECONDS = 1e6  # in a second


@dataclass(frozen=True)
class SequenceSplits:
    """Checked splits.

    Attributes:
        splits: Dataset of each split, by split name: a column with the sequence's id (str), and the list columns of its
            kind, names (str) and non-decreasing times (float64); where the data has it `first_target`, from which
            element on, counted from 0, a sequence is predicted.
        fingerprint: Hash of the content of each split, by split name; the same on every machine.
    """

    splits: dict[str, datasets.Dataset]
    fingerprint: dict[str, str]


def read_sequences(
    kind: SequenceKind, dataset: str, data_dir: str | None = None, columns: EventColumns | None = None
) -> SequenceSplits:
    """Read and check a dataset.

    Args:
        kind: Kind of sequence: `SESSIONS` of items, or `HISTORIES` of timed events.
        dataset: Data to read: "sample" (generated); a .csv, .tsv, .jsonl or .parquet file of events, which gives the
            split "train", one sequence for each user; a folder or Hub id of such rows; or rows of lists in temporal
            order: `items`, or `events` with `timestamps`. Configurations `items` and `events` of a folder may map ids
            to names.
        data_dir: Folder in which datasets with Hub ids are searched first; default: the one that `get_data_folder`
            finds.
        columns: Names of the user, item and time columns of a file of events; default: user, item and time.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read.
        TextFormatError: a sequence, event or column is not as it should be; the message names split or file, row (from
            0) and value.
    """
    return check_sequences(kind, load_sequences(kind, dataset, data_dir, columns), origin=f"dataset {dataset!r}")


def load_sequences(
    kind: SequenceKind,
    dataset: str,
    data_dir: str | None = None,
    columns: EventColumns | None = None,
    *,
    keep_times: bool = False,
) -> dict[str, datasets.Dataset]:
    """Load the splits of a dataset unchecked, with names in place of ids; errors as in `read_sequences`.

    With `keep_times` sessions of a file of events have their times too.
    """
    if dataset == SAMPLE:
        return dict(sample_sessions() if kind is SESSIONS else sample_histories())
    event_columns = columns or EventColumns()
    splits, locations = load_split_tables(
        dataset, data_dir, EVENT_FILES, lambda path: _read_events(path, event_columns)
    )
    names_in = functools.cache(functools.partial(_load_names_by_id, dataset, data_dir))
    _group_and_name_things(
        kind, splits, locations, event_columns, None if Path(dataset).is_file() else names_in, keep_times=keep_times
    )
    return splits


def read_rows_of_sequences(
    kind: SequenceKind, name: str, rows: Sequence[Mapping[str, Any]], columns: EventColumns
) -> datasets.Dataset:
    """Check rows and return them as `read_sequences` does those of a .jsonl file; `name` is that of their source.

    Raises:
        DatasetFileError, TextFormatError: as in `read_sequences`.
    """
    import datasets

    splits = {"train": datasets.Dataset(parse_time_column(build_table_from_dicts(rows), columns.time))}
    _group_and_name_things(kind, splits, {"train": name}, columns, None, keep_times=False)
    return check_sequence_rows(kind, name, splits["train"], keep_times=False)


def _group_and_name_things(
    kind: SequenceKind,
    splits: dict[str, datasets.Dataset],
    locations: Mapping[str, str],
    event_columns: EventColumns,
    names_in: Callable[..., Any] | None,
    *,
    keep_times: bool,
) -> None:
    """Replace splits of events by splits of sequences, and ids by names where `names_in` gives some."""
    import datasets

    has_times = TIMES in kind.columns
    for split, rows in splits.items():
        location, table = locations[split], rows.with_format("arrow")[:]
        types = {name: to_plain_arrow_type(table.schema.field(name).type) for name in table.column_names}
        column = next((name for name in kind.named if name in types and pa.types.is_list(types[name])), None)
        if column is None:
            events = _group_events_by_user(kind, location, table, event_columns)
            kept = (kind.ids[0], *kind.columns, *((TIMES,) if keep_times else ()))
            splits[split] = datasets.Dataset.from_dict({name: events[name] for name in kept})
            continue
        if has_times and TIMES not in types:
            raise TextFormatError(f"{location}: no column {TIMES!r}; there are {rows.column_names}")
        names = None if names_in is None else names_in(*kind.named[column])
        if names is None and not has_times:
            continue  # lists of names, as they are checked
        lists = rows[column]
        if names is not None:
            of_table = location if has_times else f"split {split!r}"
            lists = [
                _look_up_names(f"{of_table}, row {row}", ids, names, column)
                for row, ids in enumerate(iterate_column(lists))
            ]
        further = {name: rows[name] for name in (TIMES, FIRST_TARGET) if name in rows.column_names}
        splits[split] = datasets.Dataset.from_dict(
            {kind.ids[0]: _list_row_names(rows, kind), kind.columns[0]: lists, **further}
        )


def check_sequences(
    kind: SequenceKind,
    splits: Mapping[str, datasets.Dataset],
    *,
    origin: str = "the data",
    keep_times: bool = False,
) -> SequenceSplits:
    """Check splits that are already loaded and return them with the columns of `SequenceSplits`.

    Args:
        kind: Kind of sequence: `SESSIONS` of items, or `HISTORIES` of timed events.
        splits: Loaded dataset of each split, by split name.
        origin: Description of the data for error messages, such as "dataset 'x'".
        keep_times: Whether sessions keep their times, where they have any.

    Raises:
        TextFormatError: as in `read_sequences`.
    """
    checked = {
        name: check_sequence_rows(kind, f"{origin}, split {name!r}", split, keep_times=keep_times)
        for name, split in splits.items()
    }
    return SequenceSplits(checked, {name: dataset_fingerprint(split) for name, split in checked.items()})


def group_equal_sequences(kind: SequenceKind, checked: SequenceSplits) -> RowGroups:
    """Group the rows that must stay in one split: equal sequences."""
    keys = {name: [hash_strings(names) for names in split[kind.columns[0]]] for name, split in checked.splits.items()}
    return RowGroups(groups=number_groups_by_key(keys), unit=kind.several, together=f"equal {kind.several}")


def _read_events(path: Path, columns: EventColumns) -> pa.Table:
    """Read a file of events; if all its times are numbers, dates or times as text, they are parsed."""
    kind = get_unpacked_suffix(path)
    if kind not in EVENT_FILES:
        raise DatasetFileError(f"{path} is no {', '.join(EVENT_FILES)} file; name one, a folder, or a Hub id")
    if kind == ".parquet":
        table = read_parquet(path)
    elif kind == ".jsonl":
        table = build_table_from_dicts(read_json_lines(path))
    else:
        table = read_csv_or_tsv(path, (columns.user, columns.item, columns.time))
    return parse_time_column(table, columns.time)


def _list_row_names(split: datasets.Dataset, kind: SequenceKind) -> list[str]:
    """Return the names of rows: the values of the first column of `ids` that exists, or row numbers."""
    column = next((name for name in kind.ids if name in split.column_names), None)
    return [str(value) for value in (range(len(split)) if column is None else iterate_column(split[column]))]


def _group_events_by_user(
    kind: SequenceKind, location: str, table: pa.Table, columns: EventColumns
) -> dict[str, list[Any]]:
    """Return one row for each user with its events by time, users in the order of their first events.

    Users and items are text, as the file writes them. A row in which one of the three is missing, or whose time is
    none or of another kind than most (a number among dates), is an error; with `--skip_bad` it is left out. Events of
    a user at one time are counted by `record_note`.

    Raises:
        TextFormatError: a column is missing, or has a row with nothing in it; times that are none; no rows.
    """
    names = (columns.user, columns.item, columns.time)
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise TextFormatError(
            f"{location}: no column {' and no '.join(map(repr, missing))}; there are {table.column_names}. Name those "
            f"of users, items and times, {kind.or_lists}"
        )
    is_good = np.ones(table.num_rows, bool)
    for name in names:
        column = table.column(name)
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        empty = pc.equal(pc.utf8_trim_whitespace(column), "") if text else pc.is_null(column, nan_is_null=True)
        for row in np.flatnonzero(pc.fill_null(empty, True).to_numpy(zero_copy_only=False) & is_good).tolist():
            is_good[row] = False
            place = f"{location}, row {row}"
            skip_or_raise(place, TextFormatError(f"{place}: nothing in {name!r}; fill it in or leave the row out"))
    for row, problem in _find_wrong_times(table.column(columns.time), is_good):
        is_good[row] = False
        place, value = f"{location}, row {row}", str(table.column(columns.time)[row])
        skip_or_raise(place, TextFormatError(f"{place}: the time is {value!r}{problem}"))
    table = parse_time_column(table.filter(pa.array(is_good)), columns.time)
    if table.num_rows == 0:
        raise TextFormatError(f"{location}: no rows; expected at least one event")
    seconds = _convert_times_to_numbers(f"{location}: column {columns.time!r}", table.column(columns.time))
    users, items = (table.column(name).cast(pa.string()).to_pylist() for name in (columns.user, columns.item))
    of_users: dict[str, tuple[list[str], list[float]]] = {user: ([], []) for user in users}
    for row in np.argsort(np.array(seconds), kind="stable").tolist():
        of_user = of_users[users[row]]
        of_user[0].append(items[row])
        of_user[1].append(seconds[row])
    together = sum(one == next_one for _, times in of_users.values() for one, next_one in pairwise(times))
    record_note(location, "events at the time of the one before them of their user, in the order of the file", together)
    things, times_of_users = map(list, zip(*of_users.values(), strict=True))
    return {kind.ids[0]: list(of_users), kind.columns[0]: things, TIMES: times_of_users}


def _find_wrong_times(times: pa.ChunkedArray, is_good: npt.NDArray[np.bool_]) -> Iterable[tuple[int, str]]:
    """Yield each good row whose time is missing or in another format than most, with what is wrong."""
    if pa.types.is_floating(times.type):
        finite = np.isfinite(times.to_numpy(zero_copy_only=False).astype(np.float64))
        yield from ((row, f"; expected {TIMES_AS}") for row in np.flatnonzero(~finite & is_good).tolist())
    if not pa.types.is_string(times.type):
        return
    kinds = {row: _classify_time(times[row].as_py()) for row in np.flatnonzero(is_good).tolist()}
    known = Counter(kind for kind in kinds.values() if kind is not None)
    usual = known.most_common(1)[0][0] if known else None
    for row, kind in kinds.items():
        if kind is None:
            yield row, f"; expected {TIMES_AS}"
        elif kind != usual:
            yield row, f", {ONE[kind]}; most are {usual}: write it as they are or leave the row out"


def _classify_time(text: str) -> str | None:
    """Return the format of a time as text, such as a date; None if it is none. Formats cannot be mixed."""
    try:
        return "numbers" if "_" not in text and math.isfinite(float(text)) else None
    except ValueError:
        kind = parse_time_column(pa.table({"time": [text]}), "time").schema.field("time").type
    if not pa.types.is_timestamp(kind):
        return None
    return "dates and times" if kind.tz is None else "times with a zone"


def convert_to_seconds(times: Sequence[Any]) -> list[float]:
    """Convert times as a file of events has them to numbers: dates to seconds since 1970, numbers stay.

    Args:
        times: Numbers, or dates and times of Python, numpy or pandas, or any of these as text.

    Raises:
        TextFormatError: no times, or a time that is missing or no finite number.
    """
    values = list(times)
    if not values:
        raise TextFormatError("timestamps: there are none; expected one for each event")
    try:
        column = pa.array(values, from_pandas=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        column = pa.array([convert_to_text(value) for value in values])
    if column.null_count:
        raise TextFormatError(f"timestamps: {values[column.is_null().index(True).as_py()]!r} is no time")
    return _convert_times_to_numbers("timestamps", parse_time_column(pa.table({"time": column}), "time").column(0))


def _convert_times_to_numbers(location: str, times: pa.ChunkedArray) -> list[float]:
    """Convert a column of times to numbers: dates to seconds since 1970; others and NaN are an error."""
    if pa.types.is_date(times.type) or pa.types.is_timestamp(times.type):
        micro = times.cast(pa.timestamp("us", tz=getattr(times.type, "tz", None))).cast(pa.int64())
        return [value / MICROSECONDS for value in micro.to_pylist()]
    if not (pa.types.is_integer(times.type) or pa.types.is_floating(times.type)):
        raise TextFormatError(
            f"{location} begins with {str(times[0])!r}, which is no time or stands beside times of another kind; "
            f"expected {TIMES_AS}"
        )
    numbers = [float(value) for value in times.to_pylist()]
    odd = next((value for value in numbers if not math.isfinite(value)), None)
    if odd is not None:
        raise TextFormatError(f"{location} holds {odd}; expected finite numbers: fill it in or leave the row out")
    return numbers


def _load_names_by_id(
    dataset: str, data_dir: str | None, config: str, id_column: str, name_columns: Sequence[str]
) -> dict[int, str] | None:
    """Return names by id from the dataset's table of names, if it has one; equal names get their id added."""
    try:
        table = load_splits(dataset, data_dir, config)["train"]
    except ValueError:  # there is no such configuration
        return None
    location = f"dataset {dataset!r}, configuration {config!r}"
    column = next((name for name in name_columns if name in table.column_names), None)
    if column is None or id_column not in table.column_names:
        raise TextFormatError(
            f"{location}: the columns are {table.column_names}; expected {id_column!r}, and one of "
            f"{', '.join(name_columns)}"
        )
    ids, names = table[id_column][:], [str(name) for name in table[column]]
    twice = next((item for item, number in Counter(ids).items() if number > 1), None)
    if twice is not None:
        raise TextFormatError(f"{location}: {id_column} {twice!r} stands there twice")
    count = Counter(names)
    shared = sum(number for number in count.values() if number > 1)
    record_note(
        f"dataset {dataset!r}", f"names of the configuration {config!r} that others have too, with their ids", shared
    )
    return {item: name if count[name] == 1 else f"{name} [{item}]" for item, name in zip(ids, names, strict=True)}


def _look_up_names(location: str, ids: Sequence[int], names: Mapping[int, str], table: str) -> list[str]:
    """Return the names of item ids by the dataset's table of names, called `table` in errors."""
    unknown = next((item for item in ids if item not in names), None)
    if unknown is not None:
        raise TextFormatError(f"{location}: item {unknown!r} is not in the table of {table}")
    return [names[item] for item in ids]


def check_sequence_rows(
    kind: SequenceKind, location: str, split: datasets.Dataset, *, keep_times: bool = False
) -> datasets.Dataset:
    """Check the sequences of a split and return them with columns of their name, items, times and first target.

    Args:
        kind: Kind of sequence: `SESSIONS` of items, or `HISTORIES` of timed events.
        location: Name of the split in errors.
        split: Rows of the split, or a part of them.
        keep_times: Whether sessions keep their times, where they have any.

    Raises:
        TextFormatError: as in `read_sequences`.
    """
    import datasets

    if len(split) == 0:
        raise TextFormatError(f"{location}: no rows; expected at least one {kind.one}")
    table: pa.Table = split.with_format("arrow")[:]
    lengths, values = _read_list_column(location, table, kind.columns[0], "names or ids")
    if not lengths.all():
        raise TextFormatError(f"{location}, row {int(lengths.argmin())}: the session has no item; leave the row out")
    values, ends = values.cast(pa.string()), np.cumsum(lengths)
    missing = pc.index(pc.fill_null(pc.equal(values, ""), True), True).as_py()
    if missing >= 0:
        row = int(np.searchsorted(ends, missing, side="right"))
        raise TextFormatError(f"{location}, row {row}: an item without a name; leave it out")
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    content = {kind.columns[0]: pa.ListArray.from_arrays(offsets, values)}
    if TIMES in kind.columns or (keep_times and TIMES in table.column_names):
        times = pa.array(_check_times(location, table, lengths), pa.float64())
        content[TIMES] = pa.ListArray.from_arrays(offsets, times)
    if FIRST_TARGET in table.column_names:
        content[FIRST_TARGET] = _check_first_targets(location, table.column(FIRST_TARGET), lengths)
    names = pa.array(_list_row_names(split, kind), pa.string())
    return datasets.Dataset(datasets.table.InMemoryTable(pa.table({kind.ids[0]: names, **content})))


def _check_first_targets(location: str, column: pa.ChunkedArray, lengths: npt.NDArray[np.int64]) -> pa.Array:
    """Return from which element on each sequence is predicted, or raise `TextFormatError` where that cannot be."""
    if not pa.types.is_integer(column.type) or column.null_count:
        raise TextFormatError(f"{location}: column {FIRST_TARGET!r} has the type {column.type}; expected whole numbers")
    first = column.cast(pa.int64()).to_numpy()
    wrong = (first < 1) | (first > lengths)
    if wrong.any():
        row = int(wrong.argmax())
        raise TextFormatError(
            f"{location}, row {row}: {FIRST_TARGET} is {first[row]} in a sequence of {lengths[row]}; expected 1, the "
            "second element, up to its length"
        )
    return pa.array(first)


def _read_list_column(
    location: str, table: pa.Table, column_name: str, expected: str
) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """Return the lengths (rows,) of the lists in a column, and all their values in one array."""
    if column_name not in table.column_names:
        raise TextFormatError(f"{location}: no column {column_name!r}; there are {table.column_names}")
    column = cast_to_plain_type(table.column(column_name)).combine_chunks()
    inner = column.type.value_type if pa.types.is_list(column.type) else None
    if inner is None or not (column_name == TIMES or pa.types.is_integer(inner) or pa.types.is_string(inner)):
        raise TextFormatError(
            f"{location}: column {column_name!r} has the type {column.type}; expected in each row a list of {expected}"
        )
    return column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), column.flatten()


def _check_times(location: str, table: pa.Table, lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the times of all events of a split in one array, in seconds, or raise `TextFormatError`; `lengths` (rows,)
    are the numbers of events.
    """
    num_times, flat = _read_list_column(location, table, TIMES, "numbers or dates")
    if (num_times != lengths).any():
        row = int((num_times != lengths).argmax())
        both = f"{format_count(num_times[row], 'timestamps')} of {format_count(lengths[row], 'events')}"
        raise TextFormatError(f"{location}, row {row}: {both}; expected as many")
    ends = np.cumsum(lengths)
    times: npt.NDArray[np.float64]
    if pa.types.is_integer(flat.type) or pa.types.is_floating(flat.type):
        times = flat.cast(pa.float64()).to_numpy(zero_copy_only=False)
    else:
        times = np.array(convert_to_seconds(flat.to_pylist()))
    if not np.isfinite(times).all():
        row = int(np.searchsorted(ends, int((~np.isfinite(times)).argmax()), side="right"))
        raise TextFormatError(f"{location}, row {row}: a timestamp that is no number; leave the event out")
    falls = np.diff(times) < 0
    falls[ends[:-1] - 1] = False  # from one history to the next
    if falls.any():
        event = int(falls.argmax()) + 1
        row = int(np.searchsorted(ends, event, side="right"))
        raise TextFormatError(
            f"{location}, row {row}: the timestamp {times[event]:.15g} stands behind {times[event - 1]:.15g}; sort the "
            "events of a history by time"
        )
    return times
