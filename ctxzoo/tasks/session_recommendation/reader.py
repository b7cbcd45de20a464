"""Reads sessions of items, from datasets and from files of events, and checks every item of every session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import datasets
import pyarrow as pa

from ctxzoo.data.event_rows import (
    EVENT_FILES,
    EventColumns,
    checked_lists,
    has_lists,
    histories_of_events,
    lists_of,
    named_ids,
    names_of_ids,
    read_event_table,
)
from ctxzoo.data.formats import SAMPLE, TextFormatError
from ctxzoo.data.named_sequences import SequenceSplits, checked_splits, row_names
from ctxzoo.data.row_files import load_tables
from ctxzoo.tasks.session_recommendation.sample import ITEMS, SESSION, sample_sessions

IDS = (SESSION, "user", "user_id")  # columns that name a session, the first that is there
ITEM_TABLE, ITEM_ID = "items", "item_id"  # the configuration of a dataset that names its items
NAMES = ("title", "name", "item_key")  # columns of it that hold names, the first that is there


def read_sessions(dataset: str, data_dir: str | None = None, columns: EventColumns | None = None) -> SequenceSplits:
    """Read and check a dataset.

    Args:
        dataset: "sample" (generated sessions); a .csv, .tsv, .jsonl or .parquet file of events, packed as .gz or not,
            each user a session, which are the split "train"; a folder or Hub id of such rows; or any of them with rows
            that have a column `items`, the items of a session in order. A configuration `items` of a folder with
            `item_id` and `title`, `name` or `item_key` names them.
        data_dir: folder searched for Hub ids; default: see `data_folder`.
        columns: of rows of events; default: user, item and time.

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
    if dataset == SAMPLE:
        return dict(sample_sessions())
    chosen = columns or EventColumns()
    found, where = load_tables(dataset, data_dir, EVENT_FILES, lambda path: read_event_table(path, chosen))
    splits = {split: _sessions(rows, where[split], chosen) for split, rows in found.items()}
    if Path(dataset).is_file():
        return splits
    names = names_of_ids(dataset, data_dir, config=ITEM_TABLE, id_column=ITEM_ID, name_columns=NAMES)
    return splits if names is None else {split: _named(rows, split, names) for split, rows in splits.items()}


def check_sessions(splits: Mapping[str, datasets.Dataset], *, origin: str = "the data") -> SequenceSplits:
    """Check splits that are already loaded and put their columns into the one form: `session_id` (str) and `items`
    (lists of str), names of items in order.

    Args:
        splits: name to dataset.
        origin: what error messages call the data.

    Raises:
        TextFormatError: as in `read_sessions`.
    """
    return checked_splits(splits, _checked, origin)


def _sessions(rows: datasets.Dataset, where: str, columns: EventColumns) -> datasets.Dataset:
    """Return rows with the list of items of a session in each, of rows with an event in each those of their users."""
    table: pa.Table = rows.with_format("arrow")[:]
    if has_lists(table, ITEMS):
        return rows
    read = histories_of_events(where, table, columns, "or give sessions as lists in a column 'items'")
    return datasets.Dataset.from_dict({SESSION: read.users, ITEMS: read.items})


def _named(split: datasets.Dataset, name: str, names: dict[int, str]) -> datasets.Dataset:
    """Return the split with names in the place of ids.

    Raises:
        TextFormatError: an item that has no name.
    """
    sessions = named_ids(split[ITEMS], f"split {name!r}", names, ITEM_TABLE)
    return datasets.Dataset.from_dict({SESSION: row_names(split, IDS), ITEMS: sessions})


def _checked(where: str, split: datasets.Dataset) -> datasets.Dataset:
    if len(split) == 0:
        raise TextFormatError(f"{where}: no rows; expected at least one session")
    table: pa.Table = split.with_format("arrow")[:]
    items = lists_of(*checked_lists(where, table, ITEMS))
    content = {SESSION: pa.array(row_names(split, IDS), pa.string()), ITEMS: items}
    return datasets.Dataset(datasets.table.InMemoryTable(pa.table(content)))
