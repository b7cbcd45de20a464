"""Reads rows of numbers with a target, from datasets and from files of columns, and checks every number."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import datasets
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ctxzoo.data.formats import SAMPLE, SPLITS, TextFormatError
from ctxzoo.data.own_splits import group_numbers
from ctxzoo.data.row_files import read_delimited, read_parquet
from ctxzoo.data.sources import DatasetFileError, dataset_fingerprint, load_splits, plain_column, resolve_dataset
from ctxzoo.models.configuration_base import LARGEST_FLOAT
from ctxzoo.tasks.regression.sample import sample_rows

NUMBER_FILES = (".csv", ".tsv", ".parquet")
VECTOR, TARGET, ROW = "x", "y", "row"  # columns of datasets whose features stand in one list
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RegressionRows:
    """Checked rows.

    Attributes:
        features: (n, I).
        targets: (n,).
        numbers: (n,) by which the rows of all splits are put in order.
        groups: (n,) a number for each value of the column of groups, the same in all splits; None: there is no such
            column.
    """

    features: Numbers
    targets: Numbers
    numbers: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.targets)


@dataclass(frozen=True)
class RegressionSplits:
    """Checked splits.

    Attributes:
        splits: name to rows.
        feature_names: I names.
        target_name: of the target.
        fingerprint: content hash per split, the same on every machine.
    """

    splits: dict[str, RegressionRows]
    feature_names: list[str]
    target_name: str
    fingerprint: dict[str, str]


def read_rows(
    dataset: str,
    data_dir: str | None = None,
    config_name: str | None = None,
    target_column: str | None = None,
    feature_columns: Sequence[str] | None = None,
    group_column: str | None = None,
) -> RegressionSplits:
    """Read and check a dataset.

    Args:
        dataset: "sample" (generated rows); a .csv, .tsv or .parquet file of columns of numbers, which is the split
            "train"; a folder or Hub id that `datasets` can load, of such columns, or of lists `x` and numbers `y`.
        data_dir: folder searched for Hub ids; default: see `data_folder`.
        config_name: of a dataset with several, such as "airline"; default: the one that it names.
        target_column: what is predicted; default: `y` where there is one, else the last column.
        feature_columns: what it is predicted from; default: all columns but the target and that of groups. The numbers
            of a list `x` are `x0`, `x1`, ….
        group_column: tells which rows belong together, as those of one person do, by numbers or words.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read.
        TextFormatError: a column or number is not as it should be; the message names split or file, row (from 0) and
            column.
        ValueError: there is no such configuration.
    """
    return check_rows(
        load_rows(dataset, data_dir, config_name),
        target_column,
        feature_columns,
        group_column,
        origin=f"dataset {dataset!r}",
    )


def load_rows(dataset: str, data_dir: str | None = None, config_name: str | None = None) -> dict[str, datasets.Dataset]:
    """Return the splits of a dataset; arguments and errors as in `read_rows`."""
    path = Path(resolve_dataset(dataset, data_dir))
    if dataset == SAMPLE or path.is_file():
        if config_name is not None:
            raise ValueError(f"config_name={config_name!r}, but {dataset!r} has no configurations; leave it out")
        return dict(sample_rows()) if dataset == SAMPLE else {"train": read_number_file(path)}
    loaded = load_splits(dataset, data_dir, config_name, sample=True)
    found = {name: loaded[name] for name in SPLITS if name in loaded}
    if not found:
        raise TextFormatError(f"dataset {dataset!r} has the splits {sorted(loaded)}; expected one of {list(SPLITS)}")
    return found


def read_number_file(path: Path) -> datasets.Dataset:
    """Return the rows of a file of columns.

    Raises:
        DatasetFileError: another kind of file, or one that cannot be read.
        OSError: it cannot be read.
    """
    kind = path.suffix.lower()
    if kind not in NUMBER_FILES:
        raise DatasetFileError(f"{path} is no {', '.join(NUMBER_FILES)} file; name one, a folder, or a Hub id")
    table = read_parquet(path) if kind == ".parquet" else read_delimited(path, ())
    return datasets.Dataset(datasets.table.InMemoryTable(table))


def check_rows(
    splits: Mapping[str, datasets.Dataset],
    target_column: str | None = None,
    feature_columns: Sequence[str] | None = None,
    group_column: str | None = None,
    *,
    origin: str = "the data",
) -> RegressionSplits:
    """Check splits that are already loaded.

    Args:
        splits: name to dataset, all of the same columns.
        target_column, feature_columns, group_column: see `read_rows`.
        origin: what error messages call the data.

    Raises:
        TextFormatError: as in `read_rows`.
    """
    first = next(iter(splits.values()))
    target = _target(f"{origin}", first.column_names, target_column)
    if target in (feature_columns or ()) or target == group_column:
        raise TextFormatError(f"{origin}: column {target!r} is what is predicted; name others as features and groups")
    names = list(feature_columns) if feature_columns else None
    found: dict[str, tuple[Numbers, Numbers, npt.NDArray[np.int64]]] = {}
    keys: dict[str, list[Hashable]] = {}
    begin = width = 0
    for split, rows in splits.items():
        where = f"{origin}, split {split!r}"
        if len(rows) == 0:
            raise TextFormatError(f"{where}: no rows; expected at least one")
        table: pa.Table = rows.with_format("arrow")[:]
        if target not in table.column_names:
            raise TextFormatError(f"{where}: no column {target!r}; there are {table.column_names}")
        columns = _columns(where, table, target, width)
        width = width or len(columns.column_names)
        if group_column is not None:
            keys[split] = _keys(where, table if group_column in table.column_names else columns, group_column)
        names = names or [name for name in columns.column_names if name != group_column]
        features = features_of(where, columns, names)
        numbers = np.arange(begin, begin + len(rows))
        if VECTOR in table.column_names and ROW in table.column_names:
            numbers = table.column(ROW).to_numpy().astype(np.int64)
        found[split] = features, number_column(where, table, target), numbers
        begin += len(rows)
    assert names is not None
    groups = group_numbers(keys)
    checked = {split: RegressionRows(*rows, groups=groups.get(split)) for split, rows in found.items()}
    prints = {name: dataset_fingerprint(split) for name, split in splits.items()}
    return RegressionSplits(checked, names, target, prints)


def features_of(where: str, table: pa.Table, names: list[str]) -> Numbers:
    """Return (n, I) the features of these names.

    Raises:
        TextFormatError: a column is missing, or holds something else than finite numbers.
    """
    if not names:
        raise TextFormatError(f"{where}: the columns are {table.column_names}; none is left to predict from")
    missing = next((name for name in names if name not in table.column_names), None)
    if missing is not None:
        raise TextFormatError(f"{where}: no column {missing!r}; there are {table.column_names}, expected {names}")
    found: Numbers = np.stack([number_column(where, table, name) for name in names], axis=1)
    return found


def number_column(where: str, table: pa.Table, name: str) -> Numbers:
    """Return (n,) the finite numbers of a column.

    Raises:
        TextFormatError: it holds something else.
    """
    column = plain_column(table.column(name))
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise TextFormatError(
            f"{where}: column {name!r} begins with {str(column[0])!r}, which is no number; make numbers of it, or "
            "name the other columns as feature_columns"
        )
    values: Numbers = column.cast(pa.float64()).to_numpy()
    odd = ~np.isfinite(values)
    if odd.any():
        raise TextFormatError(
            f"{where}, row {int(odd.argmax())}: no finite number in {name!r}; fill it in or leave the row out"
        )
    large = np.abs(values) > LARGEST_FLOAT
    if large.any():
        row = int(large.argmax())
        raise TextFormatError(
            f"{where}, row {row}: {values[row]:g} in {name!r} is too large; expected numbers up to {LARGEST_FLOAT:g}"
        )
    return values


def _target(where: str, columns: list[str], target_column: str | None) -> str:
    if target_column is not None and target_column not in columns:
        raise TextFormatError(f"{where}: no column {target_column!r} to predict; there are {columns}")
    if target_column is None:
        target_column = TARGET if TARGET in columns else columns[-1]
    if len(columns) < 2:
        raise TextFormatError(f"{where}: the columns are {columns}; expected a target and others to predict it from")
    return target_column


def _columns(where: str, table: pa.Table, target: str, width: int) -> pa.Table:
    """Return the columns that can be features: one for each number of a list `x`, or all but the target.

    Args:
        width: how many numbers a list has in the splits before; 0: this is the first.
    """
    if VECTOR not in table.column_names or not pa.types.is_list(plain_column(table.column(VECTOR)).type):
        return table.drop_columns([target])
    column = plain_column(table.column(VECTOR)).combine_chunks()
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    width = width or max(int(lengths[0]), 1)
    if (lengths != width).any():
        row = int((lengths != width).argmax())
        raise TextFormatError(f"{where}, row {row}: {lengths[row]} numbers in {VECTOR!r}; expected {width}")
    values = column.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False).reshape(-1, width)
    return pa.table({f"{VECTOR}{place}": values[:, place] for place in range(width)})


def _keys(where: str, columns: pa.Table, name: str) -> list[Hashable]:
    if name not in columns.column_names:
        raise TextFormatError(f"{where}: no column {name!r} of groups; there are {columns.column_names}")
    values: list[Hashable] = columns.column(name).to_pylist()
    empty = next((row for row, value in enumerate(values) if value in (None, "") or value != value), None)
    if empty is not None:
        raise TextFormatError(f"{where}, row {empty}: nothing in {name!r}, which tells the rows that belong together")
    return values
