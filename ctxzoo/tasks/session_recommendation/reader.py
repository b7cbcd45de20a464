"""Reads sessions of items, from datasets and from files of events, and checks every item of every session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.formats import SAMPLE, SPLITS, TextFormatError
from ctxzoo.data.row_files import read_delimited, read_parquet
from ctxzoo.data.sources import DatasetFileError, dataset_fingerprint, load_splits, plain_column, resolve_dataset
from ctxzoo.tasks.session_recommendation.sample import ITEMS, SESSION, sample_sessions

EVENT_FILES = (".csv", ".tsv", ".parquet")
IDS = (SESSION, "user", "user_id")  # columns that name a session, the first that is there
ITEM_TABLE, ITEM_ID = "items", "item_id"  # the configuration of a dataset that names its items
NAMES = ("title", "name", "item_key")  # columns of it that hold names, the first that is there


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
class SessionSplits:
    """Checked splits.

    Attributes:
        splits: per split the columns `session_id` (str) and `items` (lists of str): names of items in order.
        fingerprint: content hash per split, the same on every machine.
    """

    splits: dict[str, datasets.Dataset]
    fingerprint: dict[str, str]


def read_sessions(dataset: str, data_dir: str | None = None, columns: EventColumns | None = None) -> SessionSplits:
    """Read and check a dataset.

    Args:
        dataset: "sample" (generated sessions); a .csv, .tsv or .parquet file of events, each user a session, which are
            the split "train"; a folder or Hub id that `datasets` can load, whose rows have a column `items`, the items
            of a session in order. A configuration `items` with `item_id` and `title`, `name` or `item_key` names them.
        data_dir: folder searched for Hub ids; default: see `data_folder`.
        columns: of a file of events; default: user, item and time.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read.
        TextFormatError: a session, event or column is not as it should be; the message names split or file, row (from
            0) and value.
    """
    return check_sessions(load_sessions(dataset, data_dir, columns), origin=f"dataset {dataset!r}")


def load_sessions(
    dataset: str, data_dir: str | None = None, columns: EventColumns | None = None
) -> dict[str, datasets.Dataset]:
    """Return the splits of a dataset, items by name; arguments and errors as in `read_sessions`."""
    path = Path(resolve_dataset(dataset, data_dir))
    if dataset == SAMPLE:
        return dict(sample_sessions())
    if path.is_file():
        return {"train": _read_file(path, columns or EventColumns())}
    loaded = load_splits(dataset, data_dir, sample=True)
    found = {name: loaded[name] for name in SPLITS if name in loaded}
    if not found:
        raise TextFormatError(f"dataset {dataset!r} has the splits {sorted(loaded)}; expected one of {list(SPLITS)}")
    names = _names(dataset, data_dir)
    return found if names is None else {split: _named(rows, split, names) for split, rows in found.items()}


def check_sessions(splits: Mapping[str, datasets.Dataset], *, origin: str = "the data") -> SessionSplits:
    """Check splits that are already loaded and put their columns into the one form.

    Args:
        splits: name to dataset.
        origin: what error messages call the data.

    Raises:
        TextFormatError: as in `read_sessions`.
    """
    checked = {name: _checked(f"{origin}, split {name!r}", split) for name, split in splits.items()}
    return SessionSplits(checked, {name: dataset_fingerprint(split) for name, split in checked.items()})


def _read_file(path: Path, columns: EventColumns) -> datasets.Dataset:
    kind = path.suffix.lower()
    if kind not in EVENT_FILES:
        raise DatasetFileError(f"{path} is no {', '.join(EVENT_FILES)} file; name one, a folder, or a Hub id")
    table = read_parquet(path) if kind == ".parquet" else read_delimited(path, (columns.user, columns.item))
    if ITEMS in table.column_names:
        return datasets.Dataset(datasets.table.InMemoryTable(table))
    return _sessions_of_events(path.name, table, columns)


def _sessions_of_events(where: str, table: pa.Table, columns: EventColumns) -> datasets.Dataset:
    """Return the session of each user, the users in the order of their first events."""
    for name in (columns.user, columns.item, columns.time):
        if name not in table.column_names:
            raise TextFormatError(
                f"{where}: no column {name!r}; there are {table.column_names}. Name those of users, items and times, "
                "or give sessions as lists in a column 'items'"
            )
        column = table.column(name)
        empty = pc.equal(column, "") if pa.types.is_string(column.type) else column.is_null()
        missing = pc.index(pc.fill_null(empty, True), True).as_py()
        if missing >= 0:
            raise TextFormatError(f"{where}, row {missing}: nothing in {name!r}; fill it in or leave the row out")
    if table.num_rows == 0:
        raise TextFormatError(f"{where}: no rows; expected at least one event")
    times = table.column(columns.time)
    if not (pa.types.is_integer(times.type) or pa.types.is_floating(times.type) or pa.types.is_temporal(times.type)):
        raise TextFormatError(
            f"{where}: column {columns.time!r} begins with {str(times[0])!r}, which is no time; expected numbers, such "
            "as seconds, or dates and times as 2024-01-31 18:05:00"
        )
    users, items = (table.column(name).cast(pa.string()).to_pylist() for name in (columns.user, columns.item))
    sessions: dict[str, list[str]] = {user: [] for user in users}
    for row in pc.sort_indices(times).to_pylist():
        sessions[users[row]].append(items[row])
    return datasets.Dataset.from_dict({SESSION: list(sessions), ITEMS: list(sessions.values())})


def _names(dataset: str, data_dir: str | None) -> dict[int, str] | None:
    """Return item id to name, where the dataset has a table of items; items of one name have their id behind it."""
    try:
        table = load_splits(dataset, data_dir, ITEM_TABLE)["train"]
    except ValueError:  # there is no such configuration
        return None
    column = next((name for name in NAMES if name in table.column_names), None)
    if column is None or ITEM_ID not in table.column_names:
        raise TextFormatError(
            f"dataset {dataset!r}, configuration {ITEM_TABLE!r}: the columns are {table.column_names}; expected "
            f"{ITEM_ID!r}, and one of {', '.join(NAMES)}"
        )
    names = [str(name) for name in table[column]]
    count = Counter(names)
    return {
        item: name if count[name] == 1 else f"{name} [{item}]" for item, name in zip(table[ITEM_ID], names, strict=True)
    }


def _named(split: datasets.Dataset, name: str, names: Mapping[int, str]) -> datasets.Dataset:
    """Return the split with names in the place of ids.

    Raises:
        TextFormatError: an item that has no name.
    """
    sessions = []
    for row, items in enumerate(split[ITEMS]):
        unknown = next((item for item in items if item not in names), None)
        if unknown is not None:
            raise TextFormatError(f"split {name!r}, row {row}: item {unknown!r} is not in the table of items")
        sessions.append([names[item] for item in items])
    ids = _session_ids(split.column_names)
    rows = {SESSION: [str(value) for value in (split[ids] if ids else range(len(split)))], ITEMS: sessions}
    return datasets.Dataset.from_dict(rows)


def _session_ids(columns: Sequence[str]) -> str | None:
    return next((name for name in IDS if name in columns), None)


def _checked(where: str, split: datasets.Dataset) -> datasets.Dataset:
    if len(split) == 0:
        raise TextFormatError(f"{where}: no rows; expected at least one session")
    table: pa.Table = split.with_format("arrow")[:]
    if ITEMS not in table.column_names:
        raise TextFormatError(f"{where}: no column {ITEMS!r}; there are {table.column_names}")
    items = plain_column(table.column(ITEMS)).combine_chunks()
    inner = items.type.value_type if pa.types.is_list(items.type) else None
    if inner is None or not (pa.types.is_integer(inner) or pa.types.is_string(inner)):
        raise TextFormatError(
            f"{where}: column {ITEMS!r} has the type {items.type}; expected in each row a list of names or ids"
        )
    lengths = items.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    if not lengths.all():
        raise TextFormatError(f"{where}, row {int(lengths.argmin())}: the session has no item; leave the row out")
    values = items.flatten().cast(pa.string())
    missing = pc.index(pc.fill_null(pc.equal(values, ""), True), True).as_py()
    if missing >= 0:
        row = int(np.searchsorted(np.cumsum(lengths), missing, side="right"))
        raise TextFormatError(f"{where}, row {row}: an item without a name; leave it out")
    ids = _session_ids(table.column_names)
    sessions = [str(value) for value in (table.column(ids).to_pylist() if ids else range(len(split)))]
    named = pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32()), values)
    content = {SESSION: pa.array(sessions, pa.string()), ITEMS: named}
    return datasets.Dataset(datasets.table.InMemoryTable(pa.table(content)))
