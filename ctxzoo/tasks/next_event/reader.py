"""Reads histories of events at times, from datasets and from files of events, and checks each of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import datasets
import numpy as np
import numpy.typing as npt
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
    seconds_of,
)
from ctxzoo.data.formats import SAMPLE, TextFormatError
from ctxzoo.data.named_sequences import SequenceSplits, checked_splits, row_names
from ctxzoo.data.notices import count_of
from ctxzoo.data.row_files import load_tables
from ctxzoo.data.sources import plain_column
from ctxzoo.tasks.next_event.sample import EVENTS, HISTORY, TIMES, sample_histories

IDS = (HISTORY, "sequence_id", "user", "user_id")  # columns that name a history, the first that is there
# Columns of the ids of events, with the configuration that names them, its column of ids, and those of names.
NAMED = {
    EVENTS: ("events", "event_id", ("badge", "title", "name")),
    "items": ("items", "item_id", ("title", "name", "item_key")),
}


def read_histories(dataset: str, data_dir: str | None = None, columns: EventColumns | None = None) -> SequenceSplits:
    """Read and check a dataset.

    Args:
        dataset: "sample" (generated histories); a .csv, .tsv, .jsonl or .parquet file with one row for each event,
            packed as .gz or not, which is the split "train"; a folder or Hub id of such rows; or any of them with rows
            that have a column `events` or `items`, lists in order, and `timestamps`, a number or date for each. A
            configuration of the same name of a folder, with `event_id` or `item_id` and a name, names them.
        data_dir: folder searched for Hub ids; default: see `data_folder`.
        columns: of rows of events; default: user, item and time.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read.
        TextFormatError: a history, event or column is not as it should be; the message names split or file, row (from
            0) and value.
    """
    return check_histories(load_histories(dataset, data_dir, columns), origin=f"dataset {dataset!r}")


def load_histories(
    dataset: str, data_dir: str | None = None, columns: EventColumns | None = None
) -> dict[str, datasets.Dataset]:
    """Return the splits of a dataset, events by name; arguments and errors as in `read_histories`."""
    if dataset == SAMPLE:
        return dict(sample_histories())
    chosen = columns or EventColumns()
    found, where = load_tables(dataset, data_dir, EVENT_FILES, lambda path: read_event_table(path, chosen))
    return {split: _histories(rows, where[split], chosen, dataset, data_dir) for split, rows in found.items()}


def check_histories(splits: Mapping[str, datasets.Dataset], *, origin: str = "the data") -> SequenceSplits:
    """Check splits that are already loaded and put their columns into the one form: `history_id` (str), `events` (lists
    of names in order) and `timestamps` (lists of float64, which do not fall).

    Args:
        splits: name to dataset.
        origin: what error messages call the data.

    Raises:
        TextFormatError: as in `read_histories`.
    """
    return checked_splits(splits, _checked, origin)


def _histories(
    rows: datasets.Dataset, where: str, columns: EventColumns, dataset: str, data_dir: str | None
) -> datasets.Dataset:
    """Return rows with a history in each, of rows with an event in each those of their users, with names of events."""
    table: pa.Table = rows.with_format("arrow")[:]
    column = next((one for one in NAMED if has_lists(table, one)), None)
    if column is None:
        read = histories_of_events(where, table, columns, f"or lists {' or '.join(map(repr, NAMED))} and {TIMES!r}")
        return datasets.Dataset.from_dict({HISTORY: read.users, EVENTS: read.items, TIMES: read.times})
    if TIMES not in rows.column_names:
        raise TextFormatError(f"{where}: no column {TIMES!r}; there are {rows.column_names}")
    config, id_column, name_columns = NAMED[column]
    names = None
    if not Path(dataset).is_file():
        names = names_of_ids(dataset, data_dir, config=config, id_column=id_column, name_columns=name_columns)
    events = rows[column] if names is None else named_ids(rows[column], where, names, config)
    return datasets.Dataset.from_dict({HISTORY: row_names(rows, IDS), EVENTS: events, TIMES: rows[TIMES]})


def _checked(where: str, split: datasets.Dataset) -> datasets.Dataset:
    if len(split) == 0:
        raise TextFormatError(f"{where}: no rows; expected at least one history")
    table: pa.Table = split.with_format("arrow")[:]
    lengths, values = checked_lists(where, table, EVENTS)
    times = _checked_times(where, table, lengths)
    names = pa.array(row_names(split, IDS), pa.string())
    content = {HISTORY: names, EVENTS: lists_of(lengths, values), TIMES: times}
    return datasets.Dataset(datasets.table.InMemoryTable(pa.table(content)))


def _checked_times(where: str, table: pa.Table, lengths: npt.NDArray[np.int64]) -> pa.Array:
    if TIMES not in table.column_names:
        raise TextFormatError(f"{where}: no column {TIMES!r}; there are {table.column_names}")
    column = plain_column(table.column(TIMES)).combine_chunks()
    if not pa.types.is_list(column.type):
        raise TextFormatError(
            f"{where}: column {TIMES!r} has the type {column.type}; expected in each row a list of numbers or dates"
        )
    found = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    if (found != lengths).any():
        row = int((found != lengths).argmax())
        both = f"{count_of(found[row], 'timestamps')} of {count_of(lengths[row], 'events')}"
        raise TextFormatError(f"{where}, row {row}: {both}; expected as many")
    ends, flat = np.cumsum(lengths), column.flatten()
    if pa.types.is_integer(flat.type) or pa.types.is_floating(flat.type):
        times = flat.cast(pa.float64()).to_numpy(zero_copy_only=False)
    else:
        times = np.array(seconds_of(flat.to_pylist()))
    if not np.isfinite(times).all():
        row = int(np.searchsorted(ends, int((~np.isfinite(times)).argmax()), side="right"))
        raise TextFormatError(f"{where}, row {row}: a timestamp that is no number; leave the event out")
    falls = np.diff(times) < 0
    falls[ends[:-1] - 1] = False  # from one history to the next
    if falls.any():
        event = int(falls.argmax()) + 1
        row = int(np.searchsorted(ends, event, side="right"))
        raise TextFormatError(
            f"{where}, row {row}: the timestamp {times[event]:.15g} stands behind {times[event - 1]:.15g}; sort the "
            "events of a history by time"
        )
    return lists_of(lengths, pa.array(times, pa.float64()))
