"""Reads rows of numbers with a target, from datasets and from files of columns, and checks every number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import datasets
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ctxzoo.data.formats import SAMPLE, SPLITS, TextFormatError
from ctxzoo.data.row_files import read_delimited, read_parquet
from ctxzoo.data.sources import DatasetFileError, dataset_fingerprint, load_splits, plain_column, resolve_dataset
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
    """

    features: Numbers
    targets: Numbers
    numbers: npt.NDArray[np.int64]

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
    dataset: str, data_dir: str | None = None, config_name: str | None = None, target_column: str | None = None
) -> RegressionSplits:
    """Read and check a dataset.

    Args:
        dataset: "sample" (generated rows); a .csv, .tsv or .parquet file of columns of numbers, which is the split
            "train"; a folder or Hub id that `datasets` can load, of such columns, or of lists `x` and numbers `y`.
        data_dir: folder searched for Hub ids; default: see `data_folder`.
        config_name: of a dataset with several, such as "airline"; default: the one that it names.
        target_column: what is predicted, from all other columns; default: `y` where there is one, else the last column.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read.
        TextFormatError: a column or number is not as it should be; the message names split or file, row (from 0) and
            column.
        ValueError: there is no such configuration.
    """
    return check_rows(load_rows(dataset, data_dir, config_name), target_column, origin=f"dataset {dataset!r}")


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
    splits: Mapping[str, datasets.Dataset], target_column: str | None = None, *, origin: str = "the data"
) -> RegressionSplits:
    """Check splits that are already loaded.

    Args:
        splits: name to dataset, all of the same columns.
        target_column: see `read_rows`.
        origin: what error messages call the data.

    Raises:
        TextFormatError: as in `read_rows`.
    """
    checked, begin = {}, 0
    first = next(iter(splits.values()))
    target = _target(f"{origin}", first.column_names, target_column)
    names: list[str] | None = None
    for split, rows in splits.items():
        where = f"{origin}, split {split!r}"
        if len(rows) == 0:
            raise TextFormatError(f"{where}: no rows; expected at least one")
        table: pa.Table = rows.with_format("arrow")[:]
        if target not in table.column_names:
            raise TextFormatError(f"{where}: no column {target!r}; there are {table.column_names}")
        found, features = _features(where, table, target, names)
        names = found
        numbers = np.arange(begin, begin + len(rows))
        if VECTOR in table.column_names and ROW in table.column_names:
            numbers = table.column(ROW).to_numpy().astype(np.int64)
        checked[split] = RegressionRows(features, number_column(where, table, target), numbers)
        begin += len(rows)
    assert names is not None
    prints = {name: dataset_fingerprint(split) for name, split in splits.items()}
    return RegressionSplits(checked, names, target, prints)


def features_of(where: str, table: pa.Table, names: list[str]) -> Numbers:
    """Return (n, I) the features of these names.

    Raises:
        TextFormatError: a column is missing, or holds something else than finite numbers.
    """
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
            "leave the column out"
        )
    values: Numbers = column.cast(pa.float64()).to_numpy()
    odd = ~np.isfinite(values)
    if odd.any():
        raise TextFormatError(
            f"{where}, row {int(odd.argmax())}: no finite number in {name!r}; fill it in or leave the row out"
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


def _features(where: str, table: pa.Table, target: str, names: list[str] | None) -> tuple[list[str], Numbers]:
    if VECTOR in table.column_names and pa.types.is_list(plain_column(table.column(VECTOR)).type):
        return _vectors(where, table, names)
    found = names or [name for name in table.column_names if name != target]
    return found, features_of(where, table, found)


def _vectors(where: str, table: pa.Table, names: list[str] | None) -> tuple[list[str], Numbers]:
    column = plain_column(table.column(VECTOR)).combine_chunks()
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    width = len(names) if names else int(lengths[0])
    if width == 0 or (lengths != width).any():
        row = int((lengths != max(width, 1)).argmax())
        raise TextFormatError(f"{where}, row {row}: {lengths[row]} numbers in {VECTOR!r}; expected {max(width, 1)}")
    values = column.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False).reshape(-1, width)
    odd = ~np.isfinite(values).all(axis=1)
    if odd.any():
        raise TextFormatError(f"{where}, row {int(odd.argmax())}: a number of {VECTOR!r} is missing or not finite")
    return names or [f"{VECTOR}{place}" for place in range(width)], values
