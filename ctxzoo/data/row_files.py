"""Files of rows: Parquet, JSON lines, and columns set apart by commas or tabs."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from ctxzoo.data.formats import SPLITS, DatasetFileError, TextFormatError
from ctxzoo.data.notices import format_count, format_error_reason
from ctxzoo.data.reading_notes import get_reading_notes, record_note, skip_or_raise
from ctxzoo.data.sources import load_splits, resolve_dataset
from ctxzoo.data.text_files import (
    PACKED,
    get_unpacked_suffix,
    open_unpacked,
    parse_json_object,
    read_text_lines,
    read_utf8,
)

if TYPE_CHECKING:
    import datasets

CHUNK = 10_000  # rows
PEEK = 2**16  # bytes in which the first line is looked for
LONGEST_FIELD = 2**31 - 1  # characters
SHOWN = 60  # characters of a line in a message
NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)


def read_parquet(path: Path) -> pa.Table:
    """Return the rows of a Parquet file, packed or not.

    Raises:
        DatasetFileError: it cannot be read, or several columns have one name.
    """
    try:
        if path.suffix.lower() in PACKED:
            with open_unpacked(path) as stream:
                source: Any = pa.BufferReader(stream.read())
        else:
            source = path
        refuse_duplicate_columns(path, pa.parquet.read_schema(source).names)
        return pa.parquet.read_table(source)
    except (pa.ArrowException, OSError) as error:
        raise DatasetFileError(f"{path} cannot be read: {format_error_reason(error)}") from error


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Return the object of each line of a file; empty lines count for nothing.

    Raises:
        DatasetFileError: not UTF-8; a line is not JSON or no object, and is named. With `--skip_bad` such lines are
            left out.
        OSError: it cannot be read.
    """
    objects = []
    for number, line in enumerate(read_text_lines(path), start=1):
        location = f"{path}, line {number}"
        try:
            if line.strip():
                objects.append(parse_json_object(line, location))
        except DatasetFileError as error:
            skip_or_raise(location, error)
    return objects


def read_csv_or_tsv(path: Path, columns: Sequence[str] = ()) -> pa.Table:
    """Return the rows of a .csv file, with commas between columns, or of a .tsv file, with tabs, packed or not.

    Every column is text, as it stands in the file: "007" is not 7, "NA" is no gap, and an empty field is an empty text.
    `parse_number_columns` makes numbers where a problem needs them. Quotes are those of RFC 4180. Lines end with line
    feeds, behind a carriage return or not; where there is no line feed, with carriage returns. The first line names the
    columns. With `--no_header` (`collect_reading_notes(no_header=True)`) it is a row: columns are numbered from 0, and
    those of `columns` that are no such number name the columns from the left that no number names.

    Empty fields behind the last column and empty lines are left out, and counted.

    Args:
        path: Path of the file.
        columns: Names of the columns that the caller reads, in their usual order.

    Raises:
        DatasetFileError: not UTF-8, or empty; other separators; a first line of numbers; a name twice; and, unless
            they are left out with `--skip_bad`, a line with another number of columns, or a quote out of its place.
        OSError: it cannot be read.
    """
    try:
        with _make_peekable(open_unpacked(path)) as stream:
            names, rows = read_csv_rows(
                stream, str(path), "," if get_unpacked_suffix(path) == ".csv" else "\t", columns
            )
            chunks: list[list[pa.Array]] = []
            while chunk := list(islice(rows, CHUNK)):
                chunks.append([pa.array(column, pa.string()) for column in zip(*chunk, strict=True)])
    except UnicodeDecodeError as error:
        read_utf8(path)  # which names the byte
        raise DatasetFileError(f"{path}: {error}") from error
    found = [pa.chunked_array(parts, pa.string()) for parts in zip(*chunks, strict=True)]
    return pa.Table.from_arrays(found or [pa.chunked_array([], pa.string())] * len(names), names=names)


def read_csv_rows(
    stream: io.BufferedReader, name: str, delimiter: str, columns: Sequence[str] = ()
) -> tuple[list[str], Iterator[list[str]]]:
    """Return the names of columns, and the fields of each row, read while they are used; see `read_csv_or_tsv`.

    Args:
        stream: Binary stream of the file, closed after the last row.
        name: Name of the file in messages.
        delimiter: Character between two columns.
        columns: Names of the columns that the caller reads, in their usual order, as in `read_csv_or_tsv`.

    Raises:
        DatasetFileError: As in `read_csv_or_tsv`.
        UnicodeDecodeError: Not UTF-8.
    """
    rows = _read_csv_rows(stream, name, delimiter)
    line, first_row = next(rows, (0, []))
    if not line:
        raise DatasetFileError(f"{name} holds no row; expected a line with the names of columns, and rows")
    names = _parse_column_names(name, delimiter, first_row, columns)
    begin = [(line, first_row)] if get_reading_notes().no_header else []
    return names, _check_row_widths(name, (row for part in (begin, rows) for row in part), len(names))


def _make_peekable(stream: BinaryIO) -> io.BufferedReader:
    """Return the stream, buffered if need be, so that its first bytes can be read without moving on."""
    return stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream, PEEK)  # type: ignore[arg-type]


def build_table_from_dicts(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return objects as a table; a column of mixed types, such as the ids 7 and "007", is text."""
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns[name] = pa.array([convert_to_text(value) for value in values])
    return pa.table(columns)


def convert_to_text(value: Any) -> Any:
    """Return a value as text, those of a list each; None stays None."""
    if isinstance(value, list):
        return [convert_to_text(one) for one in value]
    return None if value is None else str(value)


def parse_number_columns(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return the table with named text columns turned into numbers where every row holds one.

    Whole numbers are int64, others float64. Columns of truth values, written true and false, are boolean. A column in
    which one row holds something else stays text.
    """
    for name in names:
        if name in table.column_names and pa.types.is_string(table.schema.field(name).type):
            place = table.column_names.index(name)
            table = table.set_column(place, name, _parse_number_column(table.column(name)))
    return table


def parse_time_column(table: pa.Table, name: str) -> pa.Table:
    """Return the table with a text column turned into numbers or, where all rows hold dates, times.

    These are written as ISO 8601 says, such as 2024-01-31 18:05:00 or 2024-01-31T18:05:00Z.
    """
    table = parse_number_columns(table, (name,))
    if name not in table.column_names or not pa.types.is_string(table.schema.field(name).type):
        return table
    plain = pc.utf8_trim_whitespace(table.column(name))
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return table.set_column(table.column_names.index(name), name, plain.cast(kind))
        except pa.ArrowInvalid:
            continue
    return table


def load_split_tables(
    dataset: str,
    data_dir: str | None,
    kinds: Sequence[str],
    read_file: Callable[[Path], pa.Table],
    config: str | None = None,
) -> tuple[dict[str, datasets.Dataset], dict[str, str]]:
    """Return the rows of each split in a file, a folder or a dataset of the Hub, and their names for messages.

    All rows of a file are the split "train". In a folder the splits are those that `datasets` sees in the names of its
    files, but `read_file` reads the files: `datasets` would guess types, and take 007 for 7. Folders with `configs` in
    their README.md, those with files of other kinds or Parquet, and Hub ids are read by `datasets`.

    Args:
        dataset, data_dir, config: Name of the dataset, folder of datasets and name of the configuration, as in
            `load_splits`.
        kinds: File suffixes that `read_file` can read.
        read_file: Function from the path of a file to its rows.

    Raises:
        DatasetUnavailableError, DatasetFileError: see `load_splits` and `read_file`.
        TextFormatError: no split of a known name; files of one split with different columns.
    """
    path = Path(resolve_dataset(dataset, data_dir))
    if path.is_file():
        return {"train": _concatenate_tables([read_file(path)], str(path))}, {"train": str(path)}
    files = find_files_of_splits(path, kinds) if config is None else {}
    locations = {name: f"dataset {dataset!r}, split {name!r}" for name in SPLITS}
    loaded: Mapping[str, Any] = files or load_splits(dataset, data_dir, config, sample=True)
    splits = {name: loaded[name] for name in SPLITS if name in loaded}
    if not splits:
        raise TextFormatError(f"dataset {dataset!r} has the splits {sorted(loaded)}; expected one of {list(SPLITS)}")
    if files:
        splits = {
            name: _concatenate_tables([read_file(file) for file in splits[name]], locations[name]) for name in splits
        }
    return splits, {name: locations[name] for name in splits}


def _concatenate_tables(tables: Sequence[pa.Table], location: str) -> datasets.Dataset:
    """Return the rows of several tables with equal columns as one dataset; `location` names them in errors."""
    import datasets

    unequal = next((table for table in tables if table.column_names != tables[0].column_names), None)
    if unequal is not None:
        raise TextFormatError(
            f"{location}: its files have the columns {tables[0].column_names} and {unequal.column_names}; expected the "
            "same"
        )
    # The schema of one Parquet file may name the classes of its labels.
    table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
    return datasets.Dataset(datasets.table.InMemoryTable(table))


def sort_split_names(splits: Iterable[str]) -> list[str]:
    """Return names of splits, the known ones first."""
    return [name for name in SPLITS if name in set(splits)] + sorted(set(splits) - set(SPLITS))


def find_files_of_splits(folder: Path, kinds: Sequence[str], *, with_parquet: bool = False) -> dict[str, list[Path]]:
    """Return the files of each split in a folder that holds files of these kinds alone; else nothing.

    Folders with Parquet files are read by `datasets`, and so none of these unless `with_parquet`.
    """
    from datasets.data_files import DataFilesList, EmptyDatasetError, get_data_patterns

    readme = folder / "README.md"
    if not folder.is_dir() or (readme.is_file() and "\nconfigs:" in readme.read_text(encoding="utf-8")):
        return {}
    try:
        patterns = get_data_patterns(str(folder))
    except EmptyDatasetError:
        return {}
    files_of_splits = {
        name: [Path(file) for file in DataFilesList.from_patterns(of_split, str(folder))]
        for name, of_split in patterns.items()
    }
    present = {get_unpacked_suffix(file) for files in files_of_splits.values() for file in files}
    readable = set(kinds) if with_parquet else set(kinds) - {".parquet"}
    return files_of_splits if present and present <= readable else {}


def refuse_duplicate_columns(file: Path | str, names: Sequence[str]) -> None:
    """Refuse a file in which several columns have one name.

    Raises:
        DatasetFileError: there is such a name, which the message tells.
    """
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DatasetFileError(f"{file}: several columns are called {repeated[0]!r}; give each a name of its own")


def _parse_number_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of strings as integers, booleans or floats, whichever all fit first, or as it is."""
    plain = pc.utf8_trim_whitespace(column)
    for kind in (pa.int64(), pa.bool_(), pa.float64()):
        try:
            if kind == pa.bool_() and not pc.all(pc.match_substring_regex(plain, "^(?i:true|false)$")).as_py():
                continue
            return plain.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column


def _read_csv_rows(stream: io.BufferedReader, name: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row, and the line on which it begins, counted from 1; empty lines are passed over."""
    csv.field_size_limit(LONGEST_FIELD)
    end = "\n" if b"\n" in stream.peek(PEEK) else "\r"
    with io.TextIOWrapper(stream, encoding="utf-8-sig", newline=end) as handle:
        lines = _RewindableLines(handle)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        empty = 0
        while True:
            begin = lines.number + 1
            try:
                row = next(reader, None)
            except csv.Error as error:
                where = f"{name}, line {begin}"
                skip_or_raise(where, _make_quoting_error(where, lines, str(error)))
                lines.rewind_row()
                reader = csv.reader(lines, delimiter=delimiter, strict=True)
                continue
            lines.forget_row()
            if row is None:
                break
            if row:
                yield begin, row
            else:
                empty += 1
    record_note(name, "empty lines, passed over", empty)


class _RewindableLines:
    """The lines of a file, of which those of the row that is being read can be read again, all but the first."""

    def __init__(self, handle: Iterable[str]) -> None:
        self.number = 0
        self.row: list[str] = []
        self._again: list[str] = []  # the next one last
        self._handle = iter(handle)

    def __iter__(self) -> _RewindableLines:
        """Return itself, as a file does."""
        return self

    def __next__(self) -> str:
        """Return the next line, first those that `rewind_row` gave back."""
        line = self._again.pop() if self._again else next(self._handle)
        self.number += 1
        self.row.append(line)
        return line

    def forget_row(self) -> None:
        """Begin a new row: lines read so far will not be given back."""
        self.row = []

    def rewind_row(self) -> None:
        """Give back all lines of the current row but its first, to be read again."""
        self._again += reversed(self.row[1:])
        self.number -= max(len(self.row) - 1, 0)
        self.row = []


def _make_quoting_error(location: str, lines: _RewindableLines, reason: str) -> DatasetFileError:
    """Return an error that shows the line and explains the `reason` that the CSV reader gave."""
    line_start = repr(lines.row[0].rstrip("\r\n")[:SHOWN])
    if "unexpected end" in reason:
        explanation = (
            'a quote (") opens a field and none closes it; write a quote inside a text as "" and the text in quotes'
        )
    elif "expected after" in reason:
        explanation = 'a quote (") stands inside a field in quotes; write it as ""'
    elif "new-line" in reason:
        explanation = "a carriage return stands inside a field; put the text in quotes"
    else:
        explanation = reason
    return DatasetFileError(f"{location}: {line_start}: {explanation}")


def _parse_column_names(file: str, delimiter: str, first_row: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return the names of the columns of a file whose first row is `first_row`."""
    width = max((place for place, field in enumerate(first_row, start=1) if field), default=1)
    if get_reading_notes().no_header:
        names = [str(place) for place in range(len(first_row))]
        free = [name for name in names if name not in columns]
        for place, name in zip(free, (name for name in columns if name not in names), strict=False):
            names[int(place)] = name
        return names
    names = list(first_row[:width])
    if width == 1 and delimiter == "," and (";" in names[0] or "\t" in names[0]):
        between = "semicolons" if ";" in names[0] else "tabs"
        raise DatasetFileError(
            f"{file}: its columns are set apart by {between}; save it with commas, or as .tsv with tabs"
        )
    numbers = [name for name in names if NUMBER.fullmatch(name)]
    if len(numbers) == width or not all(name.strip().isdigit() for name in numbers):
        raise DatasetFileError(
            f"{file}: its first line begins with {', '.join(names)[:SHOWN]!r}, numbers and no names of columns; add a "
            "line of names (or set `no_header`, where it is a row)"
        )
    refuse_duplicate_columns(file, names)
    return names


def _check_row_widths(file: str, rows: Iterable[tuple[int, list[str]]], width: int) -> Iterator[list[str]]:
    """Yield rows of `width` fields, without empty ones behind these; others are errors, or left out."""
    trailing = 0
    for line, row in rows:
        if len(row) > width and not any(row[width:]):
            trailing += 1
            row = row[:width]
        if len(row) == width:
            yield row
            continue
        hint = "; put a text that holds the separator in quotes" if len(row) > width else ""
        counted = format_count(len(row), "columns")
        error = f"{file}, line {line}: {counted}, expected {width}: {' | '.join(row)[:SHOWN]!r}{hint}"
        skip_or_raise(f"{file}, line {line}", DatasetFileError(error))
    record_note(file, "rows with empty fields behind the last column, which were left out", trailing)
