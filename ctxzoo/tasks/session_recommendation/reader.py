"""Reads sessions of items, from datasets and from files of events, and checks every item of every session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import datasets
import pyarrow as pa

from ctxzoo.data.event_rows import (
    EventColumns,
    checked_lists,
    histories_of_events,
    lists_of,
    named_ids,
    names_of_ids,
    read_event_table,
)
from ctxzoo.data.formats import SAMPLE, SPLITS, TextFormatError
from ctxzoo.data.sources import dataset_fingerprint, load_splits, resolve_dataset
from ctxzoo.tasks.session_recommendation.sample import ITEMS, SESSION, sample_sessions

IDS = (SESSION, "user", "user_id")  # columns that name a session, the first that is there
ITEM_TABLE, ITEM_ID = "items", "item_id"  # the configuration of a dataset that names its items
NAMES = ("title", "name", "item_key")  # columns of it that hold names, the first that is there


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
    names = names_of_ids(dataset, data_dir, config=ITEM_TABLE, id_column=ITEM_ID, name_columns=NAMES)
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
    table = read_event_table(path, columns)
    if ITEMS in table.column_names:
        return datasets.Dataset(datasets.table.InMemoryTable(table))
    read = histories_of_events(path.name, table, columns, "or give sessions as lists in a column 'items'")
    return datasets.Dataset.from_dict({SESSION: read.users, ITEMS: read.items})


def _named(split: datasets.Dataset, name: str, names: dict[int, str]) -> datasets.Dataset:
    """Return the split with names in the place of ids.

    Raises:
        TextFormatError: an item that has no name.
    """
    sessions = named_ids(split[ITEMS], f"split {name!r}", names, ITEM_TABLE)
    ids = _session_ids(split.column_names)
    rows = {SESSION: [str(value) for value in (split[ids] if ids else range(len(split)))], ITEMS: sessions}
    return datasets.Dataset.from_dict(rows)


def _session_ids(columns: Sequence[str]) -> str | None:
    return next((name for name in IDS if name in columns), None)


def _checked(where: str, split: datasets.Dataset) -> datasets.Dataset:
    if len(split) == 0:
        raise TextFormatError(f"{where}: no rows; expected at least one session")
    table: pa.Table = split.with_format("arrow")[:]
    items = lists_of(*checked_lists(where, table, ITEMS))
    ids = _session_ids(table.column_names)
    sessions = [str(value) for value in (table.column(ids).to_pylist() if ids else range(len(split)))]
    content = {SESSION: pa.array(sessions, pa.string()), ITEMS: items}
    return datasets.Dataset(datasets.table.InMemoryTable(pa.table(content)))
