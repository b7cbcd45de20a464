"""The rows of a user's file, folder or pipe, a thousand at a time, for what reads each row once: `ctxzoo predict`."""

from __future__ import annotations

import csv
import gzip
import io
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet

from ctxzoo.data.formats import DatasetFileError
from ctxzoo.data.reading_notes import skip_or_raise
from ctxzoo.data.row_files import PEEK, find_files_of_splits, read_csv_rows, refuse_duplicate_columns, sort_split_names
from ctxzoo.data.rows import CHUNK, DATASET, KINDS, LINES, SEPARATORS, TEXT, Row, RowStream, chunk_rows
from ctxzoo.data.sources import load_splits, resolve_dataset
from ctxzoo.data.text_columns import TEXT_COLUMNS
from ctxzoo.data.text_files import parse_json_object
from ctxzoo.data.unpacking import limit_unpacked_size

STDIN = Path("-")
GZIP, PARQUET = b"\x1f\x8b", b"PAR1"  # the first bytes of such files


@contextmanager
def open_row_stream(source: Path, *, kind: str | None = None, columns: Sequence[str] = ()) -> Iterator[RowStream]:
    """Open a user's file, folder, pipe or the standard input as a stream of rows.

    Args:
        source: Source of rows: a .csv, .tsv (both with a header), .jsonl or .parquet file, each maybe packed as .gz; a
            folder that `datasets` can load, all splits in turn; a file of another name, with one text a line; "-" for
            standard input, or a pipe, whose format is taken from its first line.
        kind: Format, one of `KINDS`; default: from the suffix.
        columns: Names of the columns that are read; they tell the header of a pipe from a line of text, and with
            `--no_header` they name the columns, see `read_csv_or_tsv`.

    Yields:
        The rows. Errors of a row come when it is read, see `skip_or_raise`: `DatasetFileError`, with its line.

    Raises:
        OSError: There is no such file, or it cannot be read.
        DatasetFileError: It is empty, or not of its kind.
    """
    folder = Path(resolve_dataset(str(source)))
    if folder.is_dir():
        yield RowStream(str(source), DATASET, chunk_rows(_read_dataset_rows(str(folder), columns)))
        return
    with open_as_file_with_suffix(source, kind=kind, columns=columns) as file:
        name = _format_source_name(source)
        found = kind or _detect_kind_by_name(file)
        yield RowStream(name, found, chunk_rows(_refuse_empty_rows(name, _read_rows(file, name, found, columns))))


@contextmanager
def open_as_file_with_suffix(source: Path, *, kind: str | None = None, columns: Sequence[str] = ()) -> Iterator[Path]:
    """Yield a path whose suffix says the kind of the user's data, copied if need be, for readers that go by it.

    Args:
        source: File, returned as it is unless `kind` is set; or "-" or a pipe, which is written to a file.
        kind, columns: Format and column names, as in `open_row_stream`.

    Raises:
        FileNotFoundError: There is no such file, nor such a folder among the datasets.
    """
    is_pipe = source == STDIN or _is_pipe(source)
    if not is_pipe and not Path(resolve_dataset(str(source))).exists():
        raise FileNotFoundError(
            f"no file {str(source)!r}; expected a .csv, .tsv, .jsonl or .parquet file, one text a line, a folder, or - "
            "for the standard input"
        )
    if not is_pipe and kind is None:
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="ctxzoo-rows-") as folder:
        copy = Path(folder) / "rows"
        if is_pipe:
            # The standard input stays open.
            place = sys.stdin.fileno() if source == STDIN else source
            with open(place, "rb", closefd=source != STDIN) as stream, copy.open("wb") as written:
                shutil.copyfileobj(stream, written)
        else:
            copy.symlink_to(source.resolve())
        with _open_unpacked(copy) as unpacked:
            is_packed, begin = not unpacked.seekable(), unpacked.read(PEEK)
        if kind is None:
            kind = _detect_kind_by_content(begin, columns)
            print(f"ctxzoo: {_format_source_name(source)} is read as {kind} (--format says otherwise)", file=sys.stderr)
        yield copy.rename(copy.with_name(f"rows.{kind}{'.gz' if is_packed else ''}"))


def _format_source_name(source: Path) -> str:
    """Return what messages call the source: its path, or the standard input."""
    return "the standard input" if source == STDIN else str(source)


def _is_pipe(source: Path) -> bool:
    """Whether the path exists and is neither file nor folder."""
    return source.exists() and not source.is_dir() and not source.is_file()


@contextmanager
def _open_unpacked(file: Path) -> Iterator[IO[bytes]]:
    """Open the file for reading, unpacked if it is gzip, up to a limit of size."""
    with file.open("rb") as stream:
        if stream.peek(len(GZIP))[: len(GZIP)] != GZIP:
            yield stream
            return
        with limit_unpacked_size(gzip.GzipFile(fileobj=stream), file) as unpacked:
            yield unpacked


def _detect_kind_by_name(source: Path) -> str:
    """Return the kind of file that the name says, or plain text for any other name."""
    kind = source.name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind in KINDS:
        return kind
    if kind == "json":
        raise DatasetFileError(f"{source} is a .json file; expected rows: .csv, .tsv, .jsonl or .parquet")
    return LINES


def _detect_kind_by_content(begin: bytes, columns: Sequence[str]) -> str:
    """Return the kind of file that begins with `begin`; a line with one of the columns is a CSV header."""
    if begin.startswith(PARQUET):
        return "parquet"
    first_line = begin.decode("utf-8-sig", "replace").lstrip().split("\n")[0]
    if first_line.startswith("{"):
        return "jsonl"
    for kind, separator in SEPARATORS.items():
        if {*columns, *TEXT_COLUMNS} & {
            cell.strip() for cell in next(csv.reader([first_line], delimiter=separator), [])
        }:
            return kind
    return LINES


def _refuse_empty_rows(name: str, rows: Iterator[Row]) -> Iterator[Row]:
    """Yield the rows, or raise DatasetFileError if there are none."""
    first_row = next(rows, None)
    if first_row is None:
        raise DatasetFileError(f"{name} holds no row; expected at least one")
    yield first_row
    yield from rows


def _read_rows(file: Path, name: str, kind: str, columns: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a file of this `kind`, in Parquet, CSV, JSON lines or plain text.

    `name` is that of the file in errors; `columns` are those that a CSV file must have.
    """
    try:
        with _open_unpacked(file) as stream:
            if kind == "parquet":
                yield from _read_parquet_rows(stream, name)
            elif kind in SEPARATORS:
                names, rows = read_csv_rows(io.BufferedReader(stream, PEEK), name, SEPARATORS[kind], columns)  # type: ignore[arg-type, unused-ignore]
                yield from (dict(zip(names, row, strict=True)) for row in rows)
            else:
                # Lines end with a line feed alone: a lone carriage return belongs to its text.
                with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="\n") as text:
                    yield from (_read_json_rows if kind == "jsonl" else _read_text_lines)(text, name)
    except UnicodeDecodeError as error:
        raise DatasetFileError(f"{name}: not UTF-8 text ({error.reason} at byte {error.start} of a block)") from error
    except (EOFError, gzip.BadGzipFile) as error:
        raise DatasetFileError(f"{name} cannot be unpacked: {error}; copy or pack it again") from error


def _read_text_lines(lines: IO[str], name: str) -> Iterator[Row]:
    """Yield a row with the text of each line; an empty line is skipped or an error."""
    for number, line in enumerate(lines, start=1):
        location = f"{name}, line {number}"
        if line.strip():
            yield {TEXT: line.removesuffix("\n").removesuffix("\r")}
        else:
            skip_or_raise(location, DatasetFileError(f"{location} is empty; remove it, every line is one text"))


def _read_json_rows(lines: IO[str], name: str) -> Iterator[Row]:
    """Yield the object of each line; blank lines are passed over, and a broken one is skipped or an error."""
    for number, line in enumerate(lines, start=1):
        location = f"{name}, line {number}"
        try:
            row = parse_json_object(line, location) if line.strip() else None
        except DatasetFileError as error:
            skip_or_raise(location, error)
            continue
        if row is not None:
            yield row


def _read_parquet_rows(stream: IO[bytes], name: str) -> Iterator[Row]:
    """Yield the rows of a Parquet file, read in batches."""
    try:
        file = pa.parquet.ParquetFile(stream if stream.seekable() else pa.BufferReader(stream.read()))
        refuse_duplicate_columns(Path(name), file.schema_arrow.names)
        for batch in file.iter_batches(CHUNK):
            yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise DatasetFileError(f"{name} cannot be read: {error}") from error


def _read_dataset_rows(folder: str, columns: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of all splits of a folder; with several splits, each row has a field `split`."""
    files = find_files_of_splits(Path(folder), [f".{kind}" for kind in KINDS])
    for split in sort_split_names(files):
        for file in files[split]:
            with open_row_stream(file, columns=columns) as rows:
                for row in (row for chunk in rows.chunks for row in chunk):
                    yield {"split": split, **row} if len(files) > 1 else row
    if files:
        return
    import datasets

    loaded = load_splits(folder)
    for split in sort_split_names(loaded):
        rows = loaded[split]
        labels = {name: kind for name, kind in rows.features.items() if isinstance(kind, datasets.ClassLabel)}
        for begin in range(0, len(rows), CHUNK):
            part = rows[begin : begin + CHUNK]
            for name, kind in labels.items():
                part[name] = [None if one is None else kind.int2str(one) for one in part[name]]
            if len(loaded) > 1:
                part = {"split": [split] * len(next(iter(part.values()))), **part}
            yield from (dict(zip(part, values, strict=True)) for values in zip(*part.values(), strict=True))
