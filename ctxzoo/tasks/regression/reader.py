"""Reads rows of numbers with a target, from datasets and from files of columns, and checks every number."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.formats import SAMPLE, DatasetFileError, Rows, TextFormatError
from ctxzoo.data.generated import RandomDraws, generate_splits
from ctxzoo.data.notices import format_count
from ctxzoo.data.own_splits import RowGroups, merge_groupings, number_groups_by_key
from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.row_checks import RowChecks
from ctxzoo.data.row_files import (
    NUMBER,
    build_table_from_dicts,
    load_split_tables,
    parse_number_columns,
    read_csv_or_tsv,
    read_json_lines,
    read_parquet,
)
from ctxzoo.data.sources import cast_to_plain_type, dataset_fingerprint, resolve_dataset
from ctxzoo.data.text_files import get_unpacked_suffix
from ctxzoo.models.configuration_base import LARGEST_FLOAT

if TYPE_CHECKING:
    import datasets

NUMBER_FILES = (".csv", ".tsv", ".jsonl", ".parquet")
ZEROS_IN_FRONT = r"^\s*[-+]?0\d+\s*$"
VECTOR, TARGET, ROW = "x", "y", "row"  # columns of datasets whose features stand in one list
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RegressionRows:
    """Checked rows.

    Attributes:
        features: (n, I) float64 values of I features in n rows.
        targets: (n,) float64 target value of each of n rows.
        numbers: (n,) sort key of each row, by which the rows of all splits are ordered in one sequence.
        groups: (n,) group number of each row, consistent over the splits; None: the data has no group column.
    """

    features: Numbers
    targets: Numbers
    numbers: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.targets)

    def select(self, rows: Rows) -> RegressionRows:
        """Return a copy with the given rows alone."""
        groups = None if self.groups is None else self.groups[rows]
        return RegressionRows(self.features[rows], self.targets[rows], self.numbers[rows], groups)


@dataclass(frozen=True)
class RegressionSplits:
    """Checked splits.

    Attributes:
        splits: Rows of each split, by split name.
        feature_names: Names of the I features, in the order of the columns of `features`.
        target_name: Name of the target column.
        fingerprint: Hash of the content of each split, by split name; the same on every machine.
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
        dataset: Data to read: "sample" (generated rows); a .csv, .tsv, .jsonl or .parquet file of number columns, which
            gives the split "train"; a folder or Hub id of such columns, or of lists `x` with a target `y`.
        data_dir: Folder in which datasets with Hub ids are searched first; default: the one that `get_data_folder`
            finds.
        config_name: Name of the dataset's configuration, such as "airline"; default: the dataset's own default.
        target_column: Name of the column to predict; default: `y` if there is one, else the last column.
        feature_columns: Names of the input columns; default: all but the target and group columns. The entries of a
            list column `x` are called `x0`, `x1`, ….
        group_column: Name of a column, such as a person's id, whose equal values mark rows that belong together;
            default: none.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read.
        TextFormatError: a column or number is not as it should be; the message names split or file, row (from 0) and
            column.
        ValueError: there is no such configuration.
    """
    return check_rows(
        load_rows(dataset, data_dir, config_name, feature_columns or ()),
        target_column,
        feature_columns,
        group_column,
        origin=f"dataset {dataset!r}",
    )


def load_rows(
    dataset: str, data_dir: str | None = None, config_name: str | None = None, columns: Sequence[str] = ()
) -> dict[str, datasets.Dataset]:
    """Return the splits of a dataset; arguments and errors as in `read_rows` and `read_number_table`."""
    if config_name is not None and (dataset == SAMPLE or Path(resolve_dataset(dataset, data_dir)).is_file()):
        raise ValueError(f"config_name={config_name!r}, but {dataset!r} has no configurations; leave it out")
    if dataset == SAMPLE:
        return dict(sample_rows())
    return load_split_tables(
        dataset, data_dir, NUMBER_FILES, lambda path: read_number_table(path, columns), config_name
    )[0]


def read_number_table(path: Path, columns: Sequence[str] = ()) -> pa.Table:
    """Return the rows of a file of columns; those of numbers alone are numbers, others text.

    Args:
        path: Path of a .csv, .tsv, .jsonl or .parquet file.
        columns: Column names, from left to right, for a file without a header line, as in `read_csv_or_tsv`.

    Raises:
        DatasetFileError: another kind of file, or one that cannot be read.
        OSError: it cannot be read.
    """
    kind = get_unpacked_suffix(path)
    if kind not in NUMBER_FILES:
        raise DatasetFileError(f"{path} is no {', '.join(NUMBER_FILES)} file; name one, a folder, or a Hub id")
    if kind == ".parquet":
        return read_parquet(path)
    table = build_table_from_dicts(read_json_lines(path)) if kind == ".jsonl" else read_csv_or_tsv(path, columns)
    numbers = parse_number_columns(table, table.column_names)
    for name in table.column_names:
        if pa.types.is_string(table.column(name).type) and not pa.types.is_string(numbers.column(name).type):
            zeros = pc.sum(pc.match_substring_regex(table.column(name), ZEROS_IN_FRONT)).as_py()
            what = f"numbers of {name!r} with zeros in front, as identifiers have, read without them"
            record_note(str(path), what, zeros)
    return numbers


def check_rows(
    splits: Mapping[str, datasets.Dataset],
    target_column: str | None = None,
    feature_columns: Sequence[str] | None = None,
    group_column: str | None = None,
    *,
    origin: str = "the data",
) -> RegressionSplits:
    """Check splits that are already loaded and return their features and targets as arrays.

    Args:
        splits: Loaded dataset of each split, by split name; all have the same columns.
        target_column, feature_columns, group_column: Names of the target column, the feature columns and the group
            column, as in `read_rows`.
        origin: Description of the data for error messages, such as "dataset 'x'".

    Raises:
        TextFormatError: as in `read_rows`.
    """
    first = next(iter(splits.values()))
    target = _choose_target_column(f"{origin}", first.column_names, target_column)
    if target in (feature_columns or ()) or target == group_column:
        raise TextFormatError(f"{origin}: column {target!r} is what is predicted; name others as features and groups")
    names = list(feature_columns) if feature_columns else None
    checked_rows: dict[str, tuple[Numbers, Numbers, npt.NDArray[np.int64]]] = {}
    keys: dict[str, list[Hashable]] = {}
    prints: dict[str, str] = {}
    begin = width = 0
    for split, rows in splits.items():
        location = f"{origin}, split {split!r}"
        if len(rows) == 0:
            raise TextFormatError(f"{location}: no rows; expected at least one")
        checks = RowChecks(location, len(rows))
        table: pa.Table = rows.with_format("arrow")[:]
        if target not in table.column_names:
            raise TextFormatError(f"{location}: no column {target!r}; there are {table.column_names}")
        columns = _select_feature_columns(location, table, target, width)
        width = width or len(columns.column_names)
        if group_column is not None:
            keys[split] = _read_group_keys(
                checks, table if group_column in table.column_names else columns, group_column
            )
        names = names or [name for name in columns.column_names if name != group_column]
        features, targets = read_feature_columns(checks, columns, names), read_number_column(checks, table, target)
        numbers = np.arange(begin, begin + len(rows))
        if VECTOR in table.column_names and ROW in table.column_names:
            numbers = table.column(ROW).to_numpy().astype(np.int64)
        begin += len(rows)
        if not checks.kept.any():
            raise TextFormatError(f"{location}: no rows are left; expected at least one")
        checked_rows[split] = features[checks.kept], targets[checks.kept], numbers[checks.kept]
        if group_column is not None:
            keys[split] = [key for key, kept in zip(keys[split], checks.kept, strict=True) if kept]
        if not checks.kept.all():
            rows = rows.select(np.flatnonzero(checks.kept))
        prints[split] = dataset_fingerprint(rows)
    assert names is not None
    groups = number_groups_by_key(keys)
    checked = {split: RegressionRows(*rows, groups=groups.get(split)) for split, rows in checked_rows.items()}
    return RegressionSplits(checked, names, target, prints)


def group_rows(checked: RegressionSplits, group_column: str | None = None) -> RowGroups:
    """Group the rows that must stay in one split: those with equal features, or one value in the column of groups.

    Args:
        checked: Rows of all splits, checked by `check_rows`.
        group_column: Name of the column from which the group numbers were read; None: there was none.
    """
    keys = {split: [row.tobytes() for row in rows.features] for split, rows in checked.splits.items()}
    groups, together = number_groups_by_key(keys), "rows of equal features"
    named = {split: rows.groups for split, rows in checked.splits.items() if rows.groups is not None}
    if named:
        groups, together = merge_groupings(groups, named), f"rows of one {group_column} or of equal features"
    return RowGroups(groups=groups, unit="rows", together=together)


def read_feature_columns(checks: RowChecks, table: pa.Table, names: list[str]) -> Numbers:
    """Return the features (n, I) in the named columns; rows that `checks` leaves out get any value.

    Raises:
        TextFormatError: a column is missing, or, unless the row is left out, holds something else than finite numbers.
    """
    if not names:
        raise TextFormatError(f"{checks.location}: the columns are {table.column_names}; none is left to predict from")
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise TextFormatError(
            f"{checks.location}: no column {', '.join(map(repr, missing))}; there are {table.column_names}, expected "
            f"{names}"
        )
    found: Numbers = np.stack([read_number_column(checks, table, name) for name in names], axis=1)
    return found


def read_number_column(checks: RowChecks, table: pa.Table, name: str) -> Numbers:
    """Return the finite numbers (n,) of a column; rows that `checks` leaves out get any value.

    Raises:
        TextFormatError: no row holds a number, or, unless they are left out, some hold something else.
    """
    column = cast_to_plain_type(table.column(name))
    kind = column.type
    is_text = kind == pa.string()
    numbers = pc.match_substring_regex(column, f"^(?:{NUMBER.pattern})$") if is_text else None
    if is_text and pc.any(numbers).as_py():
        reason = f"{{value!r}} in {name!r} is no number; correct it, fill it in or leave the row out"
        checks.refuse_rows(pc.invert(numbers), column, reason)
        column = pc.utf8_trim_whitespace(pc.if_else(pc.fill_null(numbers, False), column, "0"))
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise TextFormatError(
            f"{checks.location}: column {name!r} begins with {str(column[0])!r}, which is no number; make numbers of "
            "it, of dates days or seconds, or name the other columns as feature_columns"
        )
    values: Numbers = column.cast(pa.float64()).to_numpy()
    reason = f"no finite number in {name!r}; fill it in or leave the row out"
    checks.refuse_rows(~np.isfinite(values), column, reason)
    reason = f"{{value:g}} in {name!r} is too large; expected numbers up to {LARGEST_FLOAT:g}"
    checks.refuse_rows(np.abs(np.nan_to_num(values)) > LARGEST_FLOAT, pa.array(values), reason)
    return values


def _choose_target_column(location: str, columns: list[str], target_column: str | None) -> str:
    """Return the column to predict: the named one, the one that is called as in our samples, or the last."""
    if target_column is not None and target_column not in columns:
        raise TextFormatError(f"{location}: no column {target_column!r} to predict; there are {columns}")
    if len(columns) < 2:
        raise TextFormatError(f"{location}: the columns are {columns}; expected a target and others to predict it from")
    if target_column is None and TARGET not in columns:
        record_note(location, f"columns taken as what is predicted, the last, {columns[-1]!r}", 1)
    if target_column is None:
        target_column = TARGET if TARGET in columns else columns[-1]
    return target_column


def _select_feature_columns(location: str, table: pa.Table, target: str, width: int) -> pa.Table:
    """Return the columns that can be features: one for each number of a list `x`, or all but the target.

    Args:
        width: Length of the list column in the splits read before; 0: this is the first split.
    """
    if VECTOR not in table.column_names or not pa.types.is_list(cast_to_plain_type(table.column(VECTOR)).type):
        return table.drop_columns([target])
    column = cast_to_plain_type(table.column(VECTOR)).combine_chunks()
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    width = width or max(int(lengths[0]), 1)
    if (lengths != width).any():
        row = int((lengths != width).argmax())
        raise TextFormatError(
            f"{location}, row {row}: {format_count(lengths[row], 'numbers')} in {VECTOR!r}; expected {width}"
        )
    values = column.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False).reshape(-1, width)
    return pa.table({f"{VECTOR}{place}": values[:, place] for place in range(width)})


def _read_group_keys(checks: RowChecks, columns: pa.Table, name: str) -> list[Hashable]:
    """Return the value of the group column of each row; rows without one are refused."""
    if name not in columns.column_names:
        raise TextFormatError(f"{checks.location}: no column {name!r} of groups; there are {columns.column_names}")
    column = columns.column(name)
    values: list[Hashable] = column.to_pylist()
    empty = [value in (None, "") or value != value for value in values]
    checks.refuse_rows(np.array(empty), column, f"nothing in {name!r}, which tells the rows that belong together")
    return values


FEATURES, TARGET = ("day", "height", "noise"), "level"
DAYS, TURN, TREND, SHIFT, ERROR = 60.0, 12.0, 0.05, 1.5, 0.2


def sample_rows(seed: int = 0, train: int = 120, validation: int = 20, test: int = 20) -> dict[str, datasets.Dataset]:
    """Return generated rows; the same arguments give the same rows on every machine.

    Args:
        seed: Seed of the generator, 0 or more.
        train, validation, test: Number of rows to generate for each split, 1 or more.

    Returns:
        Splits train, validation and test with the columns day, height and noise, and level, the target. A larger split
        begins with a smaller one's rows.

    Raises:
        ValueError: negative seed, or a number of rows below 1.
    """

    def draw_rows(draws: RandomDraws, number: int, split: str) -> dict[str, list[float]]:
        drawn = [_draw_row(draws) for _ in range(number)]
        return {name: [row[place] for row in drawn] for place, name in enumerate((*FEATURES, TARGET))}

    return generate_splits("sample_rows", "row", seed, (train, validation, test), draw_rows)


def _draw_row(draws: RandomDraws) -> tuple[float, float, float, float]:
    """Draw a row of the sample: day, height, noise that tells nothing, and the level to predict."""
    day, height, noise = DAYS * draws.random(), 2 * draws.random() - 1, draws.random()
    error = ERROR * (draws.random() + draws.random() - 1)
    level = math.sin(2 * math.pi * day / TURN + SHIFT * height) + TREND * day + error
    return day, height, noise, level
