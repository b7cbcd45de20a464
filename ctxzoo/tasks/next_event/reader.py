"""Reads histories of events at times, from datasets and from files of events, and checks each of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import datasets
import numpy as np
import numpy.typing as npt
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
from ctxzoo.data.formats import SAMPLE, TextFormatError
from ctxzoo.data.named_sequences import SequenceSplits, checked_splits, known_splits, row_names
from ctxzoo.data.sources import plain_column, resolve_dataset
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
        dataset: "sample" (generated histories); a .csv, .tsv or .parquet file with one row for each event, which is the
            split "train"; a folder or Hub id that `datasets` can load, whose rows have a column `events` or `items`,
            lists in order, and `timestamps`, a number for each. A configuration of the same name, with `event_id` or
            `item_id` and a name, names them.
        data_dir: folder searched for Hub ids; default: see `data_folder`.
        columns: of a file of events; default: user, item and time.

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
    path = Path(resolve_dataset(dataset, data_dir))
    if dataset == SAMPLE:
        return dict(sample_histories())
    if path.is_file():
        chosen = columns or EventColumns()
        read = histories_of_events(path.name, read_event_table(path, chosen), chosen, "one row for each event")
        return {"train": datasets.Dataset.from_dict({HISTORY: read.users, EVENTS: read.items, TIMES: read.times})}
    found = known_splits(dataset, data_dir)
    return {split: _named(rows, split, dataset, data_dir) for split, rows in found.items()}


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


def _named(split: datasets.Dataset, name: str, dataset: str, data_dir: str | None) -> datasets.Dataset:
    """Return the split with names in a column `events`."""
    column = next((one for one in NAMED if one in split.column_names), None)
    if column is None or TIMES not in split.column_names:
        raise TextFormatError(
            f"dataset {dataset!r}, split {name!r}: the columns are {split.column_names}; expected {TIMES!r}, and "
            f"{' or '.join(map(repr, NAMED))}"
        )
    config, id_column, name_columns = NAMED[column]
    names = names_of_ids(dataset, data_dir, config=config, id_column=id_column, name_columns=name_columns)
    events = split[column] if names is None else named_ids(split[column], f"split {name!r}", names, config)
    return datasets.Dataset.from_dict({HISTORY: row_names(split, IDS), EVENTS: events, TIMES: split[TIMES]})


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
    inner = column.type.value_type if pa.types.is_list(column.type) else None
    if inner is None or not (pa.types.is_integer(inner) or pa.types.is_floating(inner)):
        raise TextFormatError(
            f"{where}: column {TIMES!r} has the type {column.type}; expected in each row a list of numbers"
        )
    found = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    if (found != lengths).any():
        row = int((found != lengths).argmax())
        raise TextFormatError(f"{where}, row {row}: {found[row]} timestamps of {lengths[row]} events; expected as many")
    times = column.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths)
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
