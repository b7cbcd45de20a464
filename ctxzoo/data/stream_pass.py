"""One pass over data larger than memory: every row is checked, a few are held out, the others are written in blocks.

Memory holds 10,000 rows at a time, a sample, the rows that are held out, and how often each label or item stands in
train. Validation and test are the rows whose hashes are smallest: equal ones stay on one side, and where more data
comes, rows move from there to train.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ctxzoo.data.files import build_cached_folder, default_cache_folder, hash_strings
from ctxzoo.data.formats import SAMPLE, SPLITS, DatasetFileError, TextFormatError
from ctxzoo.data.notices import format_count
from ctxzoo.data.own_splits import HELD_OUT, LEAST_ROWS, SPLIT_SEED, hash_normalized_text
from ctxzoo.data.reading_notes import ReadingNotes, collect_reading_notes, get_reading_notes, record_note
from ctxzoo.data.row_files import build_table_from_dicts, find_files_of_splits, refuse_duplicate_columns
from ctxzoo.data.row_stream import open_row_stream
from ctxzoo.data.sources import RunningFingerprint, load_streams, resolve_dataset
from ctxzoo.data.text_files import get_unpacked_suffix, open_unpacked
from ctxzoo.data.training_stream import (
    BLOCK,
    BLOCKS_OF_FILE,
    SAMPLED,
    STREAM,
    StreamFacts,
    TrainingStream,
    count_names,
    name_file,
    write_facts,
)

if TYPE_CHECKING:
    import datasets

CHUNK = 10_000  # rows that are read and checked together
MOST_SAMPLED = 100_000  # training rows
MOST_HELD_OUT = 10_000  # rows of validation, and of test
SECONDS = 20.0  # between two reports
PASS_VERSION = "1"

Keys = npt.NDArray[np.uint64]
Chunk = tuple[str, int, "datasets.Dataset"]  # what messages call the source, number of the first row, rows


class StreamReader(ABC):
    """How a problem reads its rows from a stream.

    Attributes:
        unit: Plural noun for the rows, such as "texts".
        together: What rows that are never divided have in common, such as "equal texts".
        from_sample: What a training takes from the sample of rows, for the line that tells their number.
        kinds: Suffixes of the files that can be read.
        columns: Names of the columns that are read, for .csv and .tsv files.
        samples_every_name: Whether the sample has a row of every name, such as a label.
        longest: Greatest length of a training row so far, where a problem needs it.
    """

    unit: str
    together: str
    from_sample: str
    kinds: tuple[str, ...] = (".csv", ".tsv", ".jsonl", ".parquet")
    columns: tuple[str, ...] = ()
    samples_every_name: bool = False
    longest: int = 0

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the settings that decide what is written, by name."""

    @abstractmethod
    def check(self, location: str, rows: datasets.Dataset) -> pa.Table:
        """Return checked rows, in the columns that the problem reads; rows are counted from the first one here.

        Raises:
            ValueError: a row or column is not as it should be, unless the row is left out.
        """

    @abstractmethod
    def hash_rows(self, rows: pa.Table) -> Keys:
        """Return a hash of each of the checked rows; rows with equal ones are never divided."""

    def prepare_training(self, location: str, rows: pa.Table) -> pa.Table:
        """Return checked rows as training reads them, such as long ones in pieces; record what is left out."""
        return rows

    def list_names(self, rows: pa.Table) -> pa.ChunkedArray | None:
        """Return the label of each row, or the list of its labels or items; None: there is nothing to count."""
        return None

    def check_names(self, location: str, names: Sequence[str]) -> None:  # noqa: B027  one with no names need not
        """Check all names of all splits, sorted, and record what is odd about them.

        Raises:
            TextFormatError: nothing can be learned of these names.
        """

    def measure(self, rows: pa.Table) -> int:
        """Return the size of a block of training rows."""
        return len(rows)

    def build_whole(self, rows: pa.Table, names: Sequence[str]) -> datasets.Dataset:
        """Return rows that are read into memory as a dataset; `names` are all names, in order."""
        import datasets

        return datasets.Dataset(datasets.table.InMemoryTable(rows))


def hash_texts(texts: Sequence[str]) -> Keys:
    """Return a hash of each text, (texts,), that ignores white space and case."""
    return np.fromiter(map(hash_normalized_text, texts), np.uint64, len(texts))


class _SmallestKeys:
    """The rows with the smallest keys, so many at most; rows with equal keys are kept or given back together.

    Args:
        most: Largest number of rows.
        below: Bound of the keys; rows with keys from it on are not taken.
    """

    def __init__(self, most: int, below: int = 2**64) -> None:
        self.most, self.below = most, below
        self._tables: list[pa.Table] = []
        self._keys: list[Keys] = []

    def __len__(self) -> int:
        return sum(map(len, self._keys))

    def takes(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return which of the keys are below the bound."""
        small: npt.NDArray[np.bool_] = keys <= np.uint64(self.below - 1)
        return small

    def add(self, rows: pa.Table, keys: Keys) -> pa.Table:
        """Take rows with small keys, and return those that are not, or no longer, among the smallest."""
        taken = self.takes(keys)
        self._tables.append(rows.filter(pa.array(taken)))
        self._keys.append(keys[taken])
        back = [rows.filter(pa.array(~taken))]
        if len(self) > self.most + self.most // 8:
            back.append(self.shrink())
        return pa.concat_tables(back)

    def shrink(self) -> pa.Table:
        """Keep `most` rows, and return the others."""
        table, keys = self.get_rows(), self.get_keys()
        if len(keys) <= self.most:
            return table.slice(0, 0)
        bound = np.sort(keys)[self.most]
        self.below, kept = int(bound), keys < bound
        self._tables, self._keys = [table.filter(pa.array(kept)).combine_chunks()], [keys[kept]]
        return table.filter(pa.array(~kept))

    def get_rows(self) -> pa.Table:
        """Return the rows that are kept, in the order in which they came."""
        return pa.concat_tables(self._tables)

    def get_keys(self) -> Keys:
        """Return the keys of these rows."""
        return np.concatenate(self._keys)


class _BlockWriter:
    """Writes training rows in blocks of like size, and keeps what is known of all of them."""

    def __init__(self, reader: StreamReader, folder: Path, block: int) -> None:
        self.reader, self.folder, self.block = reader, folder, block
        self.sizes: list[int] = []
        self.rows = 0
        self.names: Counter[str] = Counter()
        self.sample = _SmallestKeys(MOST_SAMPLED)
        self.fingerprint = RunningFingerprint()
        self._generator = np.random.default_rng(SPLIT_SEED)
        self._waiting: list[pa.Table] = []
        self._file: pq.ParquetWriter | None = None

    def add(self, rows: pa.Table) -> None:
        """Write rows, as far as they fill blocks."""
        if not len(rows):
            return
        # Row by row, as uniform as they come: the smallest of these keys are a sample of all rows.
        keys = self._generator.integers(1, 2**64 - 1, len(rows), np.uint64)
        names = self.reader.list_names(rows)
        if names is not None:
            counts = count_names(names)
            if self.reader.samples_every_name and counts.keys() - self.names.keys():
                keys[_find_first_rows(names, counts.keys() - self.names.keys())] = 0
            self.names.update(counts)
        self.sample.add(rows, keys)
        self.rows += len(rows)
        self._waiting.append(rows)
        if sum(map(len, self._waiting)) >= self.block:
            self._write(whole=False)

    def close(self) -> None:
        """Write the rows that are left, in a block of their own."""
        self._write(whole=True)
        if self._file is not None:
            self._file.close()

    def _write(self, *, whole: bool) -> None:
        table = pa.concat_tables(self._waiting) if self._waiting else None
        while table is not None and (len(table) >= self.block or (whole and len(table))):
            rows, table = table.slice(0, self.block).combine_chunks(), table.slice(self.block)
            if len(self.sizes) % BLOCKS_OF_FILE == 0:
                if self._file is not None:
                    self._file.close()
                file = self.folder / STREAM / name_file(len(self.sizes) // BLOCKS_OF_FILE)
                self._file = pq.ParquetWriter(file, rows.schema)
            assert self._file is not None
            self._file.write_table(rows, row_group_size=self.block)
            self.fingerprint.add_rows(rows)
            self.sizes.append(self.reader.measure(rows))
        self._waiting = [] if table is None or not len(table) else [table.combine_chunks()]


def _find_first_rows(names: pa.ChunkedArray, new: Sequence[str] | set[str]) -> list[int]:
    """Return for each of the names the first row that has it."""
    missing, rows = set(new), []
    for row, value in enumerate(names.to_pylist()):
        found = missing.intersection(value if isinstance(value, list) else [value])
        if found:
            missing -= found
            rows.append(row)
        if not missing:
            break
    return rows


@dataclass(frozen=True)
class StreamPass:
    """What a pass has written.

    Attributes:
        sizes: Number of rows of each split.
        drawn: Names of the splits that were drawn from the training rows.
        change: Words behind the number of all rows that say how they were divided.
        facts: What is known of the training rows.
    """

    sizes: dict[str, int]
    drawn: tuple[str, ...]
    change: str
    facts: StreamFacts


def write_stream(
    reader: StreamReader,
    splits: Mapping[str, Iterator[Chunk]],
    name: str,
    folder: Path,
    *,
    draw: Sequence[str] = SPLITS[1:],
    block: int = BLOCK,
    report: Callable[[int], None] = lambda rows: None,
) -> StreamPass:
    """Read all rows once and write them for a `TrainingStream`.

    Args:
        reader: Reader of the problem.
        splits: Rows of each split, chunk by chunk, by the name of the split.
        name: Name of the data in messages, as the user typed it.
        folder: Empty folder to write into.
        draw: Names of splits that are drawn from train where they are missing.
        block: Number of rows of a block.
        report: Function called now and then with the number of rows that were read.

    Raises:
        TextFormatError: no rows to train on; none to draw a split from; a bad row, unless it is left out.
        OSError: the folder cannot be written.
    """
    if "train" not in splits:
        raise TextFormatError(f"{name} has the splits {sorted(splits)}, none to train on; name data with a train split")
    (folder / STREAM).mkdir()
    notes, writer = ReadingNotes(), _BlockWriter(reader, folder, block)
    given = {split: _keep_given_rows(reader, split, splits[split], notes) for split in SPLITS[1:] if split in splits}
    drawn = [split for split in SPLITS[1:] if split not in splits and split in draw]
    division = _Division(reader, writer, name, given, drawn, notes)
    read, told = 0, time.monotonic()
    for rows in _check(reader, splits["train"], notes):
        read += len(rows)
        division.add(rows)
        if time.monotonic() - told > SECONDS:
            told = time.monotonic()
            report(read)
    held = division.finish(read)
    sizes = {"train": writer.rows, **{split: len(rows) for split, rows in held.items()}}
    _write_whole_splits(reader, writer, held, name, folder, notes)
    for (where, what), number in notes.noted.items():
        record_note(where, what, number)
    change = _describe_sizes(reader, sizes, drawn)
    facts = StreamFacts(
        rows=writer.rows,
        block=block,
        sizes=writer.sizes,
        sampled=len(writer.sample),
        longest=reader.longest,
        names=dict(writer.names),
        fingerprint=writer.fingerprint.hexdigest(),
        notes=[
            *((where, what, number) for (where, what), number in notes.noted.items()),
            (name, change, sum(sizes.values())),
        ],
    )
    write_facts(facts, folder)
    return StreamPass(sizes, tuple(drawn), change, facts)


def _keep_given_rows(reader: StreamReader, split: str, chunks: Iterator[Chunk], notes: ReadingNotes) -> _SmallestKeys:
    """Return the rows of a split of the data's own, as many as are kept."""
    kept = _SmallestKeys(MOST_HELD_OUT)
    dropped = sum(len(kept.add(rows, reader.hash_rows(rows))) for rows in _check(reader, chunks, notes))
    dropped += len(kept.shrink())
    change = f"{reader.unit} of {split} beyond {MOST_HELD_OUT:,}, not read; those with the smallest hashes are"
    notes.add_count(split, change, dropped)
    return kept


class _Division:
    """Divides the rows of train: a few are held out, the others are written.

    Args:
        reader: Reader of the problem.
        writer: Writer of training rows.
        name: Name of the data in messages.
        given: Rows of the data's own validation and test, by split name.
        drawn: Names of the splits that are drawn.
        notes: Notes to add to.
    """

    def __init__(
        self,
        reader: StreamReader,
        writer: _BlockWriter,
        name: str,
        given: Mapping[str, _SmallestKeys],
        drawn: Sequence[str],
        notes: ReadingNotes,
    ) -> None:
        self.reader, self.writer, self.name, self.given, self.notes = reader, writer, name, given, notes
        self.drawn = {split: _SmallestKeys(MOST_HELD_OUT, int(HELD_OUT * 2**64)) for split in drawn}
        # Of the keys each split counts from another number on, so that no row is in both.
        self._starts = {split: np.uint64(place * 2**63) for place, split in enumerate(drawn)}
        self._given_keys = {split: set(kept.get_keys().tolist()) for split, kept in given.items() if len(kept)}
        self._shared: dict[str, set[int]] = {split: set() for split in self._given_keys}

    def add(self, rows: pa.Table) -> None:
        """Hold some of the rows out, and write the others and those that are held out no longer."""
        keys, is_left, back = self.reader.hash_rows(rows), np.ones(len(rows), np.bool_), []
        for split, start in self._starts.items():
            is_held = self.drawn[split].takes(keys - start)
            back.append(self.drawn[split].add(rows.filter(pa.array(is_held)), (keys - start)[is_held]))
            is_left &= ~is_held
        self._write(pa.concat_tables([rows.filter(pa.array(is_left)), *back]))

    def finish(self, read: int) -> dict[str, pa.Table]:
        """Write what is left, and return the rows of validation and test.

        Args:
            read: Number of rows that were read.

        Raises:
            TextFormatError: a split has no row.
        """
        for kept in self.drawn.values():
            self._write(kept.shrink())
        self.writer.close()
        held = {**self.given, **self.drawn}
        _refuse_empty_splits(self.reader, self.writer, held, list(self.drawn), self.name, read)
        for split, found in self._shared.items():
            number = int(np.isin(held[split].get_keys(), np.array(sorted(found), np.uint64)).sum())
            change = f"{self.reader.unit} of {split} share {self.reader.together} with train"
            self.notes.add_count(self.name, change, number)
        return {split: kept.get_rows() for split, kept in held.items()}

    def _write(self, rows: pa.Table) -> None:
        """Write rows, and note what validation and test of the data's own have of them."""
        if self._given_keys and len(rows):
            keys = set(self.reader.hash_rows(rows).tolist())
            for split, of_split in self._given_keys.items():
                self._shared[split].update(of_split & keys)
        with collect_reading_notes() as own:
            self.writer.add(self.reader.prepare_training(self.name, rows))
        _add_counts(self.notes, own)


def _write_whole_splits(
    reader: StreamReader,
    writer: _BlockWriter,
    held: Mapping[str, pa.Table],
    name: str,
    folder: Path,
    notes: ReadingNotes,
) -> None:
    """Write what is read into memory later, validation, test and the sample, once all names are known."""
    names = {*writer.names}
    if reader.samples_every_name:
        of_held = (reader.list_names(rows) for rows in held.values())
        names |= {name for found in of_held if found is not None for name in count_names(found)}
    with collect_reading_notes() as own:
        reader.check_names(name, sorted(names))
    _add_counts(notes, own)
    writer.sample.shrink()
    sampled = writer.sample.get_rows()
    files = {f"{split}.parquet": rows for split, rows in held.items()}
    for file, rows in {**files, f"{STREAM}/{SAMPLED}": sampled}.items():
        pq.write_table(reader.build_whole(rows, sorted(names)).data.table, folder / file)
    if len(sampled) < writer.rows:
        chosen = f"of {writer.rows:,} {reader.unit} of train, drawn at random, for {reader.from_sample}"
        notes.add_count(name, chosen, len(sampled))


def _check(reader: StreamReader, chunks: Iterator[Chunk], notes: ReadingNotes) -> Iterator[pa.Table]:
    """Yield the checked rows of each chunk; messages count rows from the first of the source, notes are summed up."""
    outer = get_reading_notes()
    for location, first, rows in chunks:
        shift = re.compile(rf"({re.escape(location)}, row )(\d+)")

        def count_from_first(text: str, shift: re.Pattern[str] = shift, first: int = first) -> str:
            return shift.sub(lambda found: f"{found[1]}{first + int(found[2])}", text)

        with collect_reading_notes(skip_bad=outer.skip_bad, no_header=outer.no_header) as own:
            try:
                table = reader.check(location, rows)
            except TextFormatError as error:
                table = None
                if len(own.left_out) < len(rows):  # else the error is that no row is left
                    raise type(error)(count_from_first(str(error))) from error
        _add_counts(notes, own)
        for where, reason in own.left_out.items():
            outer.leave_out_of_stream(count_from_first(where), count_from_first(reason))
        if table is not None and len(table):
            yield table


def _add_counts(notes: ReadingNotes, of_part: ReadingNotes) -> None:
    """Add the counts of one part of the data to those of all."""
    for (location, change), number in of_part.noted.items():
        notes.add_count(location, change, number)


def _refuse_empty_splits(
    reader: StreamReader,
    writer: _BlockWriter,
    held: Mapping[str, _SmallestKeys],
    drawn: Sequence[str],
    name: str,
    read: int,
) -> None:
    """Raise an error where a split has no row."""
    counted = format_count(read, reader.unit)
    if read < LEAST_ROWS and drawn:
        raise TextFormatError(
            f"{name} has {counted}; expected {LEAST_ROWS} or more, to train, validate and test on: add some, or give "
            "validation and test files of their own"
        )
    empty = [split for split in held if not len(held[split])] + ([] if writer.rows else ["train"])
    if empty:
        raise TextFormatError(
            f"{name}: of {counted} none is left for {empty[0]}, since {reader.together} stay on one side; add others, "
            "give validation and test files of their own, or read the data without streaming"
        )


def _describe_sizes(reader: StreamReader, sizes: Mapping[str, int], drawn: Sequence[str]) -> str:
    """Return the words behind the number of all rows: the size of each split, and how drawn ones were drawn."""
    parts = ", ".join(f"{number:,} {split}" for split, number in sizes.items())
    if not drawn:
        return f"{reader.unit}: {parts}"
    return (
        f"{reader.unit}: {parts} ({' and '.join(drawn)} drawn from train by a hash, {HELD_OUT:.0%} or at most "
        f"{MOST_HELD_OUT:,} each, {reader.together} on one side)"
    )


def open_splits(
    reader: StreamReader, dataset: str, data_dir: str | None, files: Mapping[str, str] | None = None
) -> dict[str, Iterator[Chunk]]:
    """Return the rows of each split of a dataset, read chunk by chunk while they are used.

    Args:
        reader: Reader of the problem.
        dataset: File, which gives the split "train"; folder of files named after splits; or Hub id.
        data_dir: Folder of datasets as `<namespace>/<name>`; None: the one that `get_data_folder` finds.
        files: Name of a split, "validation" or "test", to the file or folder that holds it.

    Raises:
        DatasetUnavailableError, DatasetFileError: there is no such dataset, or it cannot be streamed.
        TextFormatError: a file for one split has several, none of this name.
    """
    splits = _open_splits_of_source(reader, dataset, data_dir)
    for name, source in (files or {}).items():
        others = _open_splits_of_source(reader, source, data_dir)
        only = next(iter(others)) if len(others) == 1 else name
        if only not in others:
            raise TextFormatError(f"{source}, for {name}, has the splits {sorted(others)}; expected one, or {name!r}")
        splits[name] = others[only]
    return splits


def _open_splits_of_source(reader: StreamReader, dataset: str, data_dir: str | None) -> dict[str, Iterator[Chunk]]:
    if dataset == SAMPLE:
        raise DatasetFileError(f"dataset={SAMPLE!r} is generated in memory; name files, or leave streaming out")
    files = list_stream_files(reader, dataset, data_dir)
    if files:
        return {split: _read_files(reader, of_split) for split, of_split in files.items()}
    loaded = load_streams(dataset, data_dir)
    return {split: _read_iterable(dataset, split, loaded[split]) for split in SPLITS if split in loaded}


def list_stream_files(reader: StreamReader, dataset: str, data_dir: str | None) -> dict[str, list[Path]]:
    """Return the files of each split of a file or folder; nothing where the library `datasets` is to read it."""
    path = Path(resolve_dataset(dataset, data_dir))
    if path.is_dir():
        return find_files_of_splits(path, reader.kinds, with_parquet=True)
    if not path.is_file():
        return {}
    if get_unpacked_suffix(path) not in reader.kinds:
        raise DatasetFileError(f"{path} is no {', '.join(reader.kinds)} file; name one, a folder, or a Hub id")
    return {"train": [path]}


def _read_files(reader: StreamReader, files: Sequence[Path]) -> Iterator[Chunk]:
    """Yield the rows of files, one file after another."""
    for file in files:
        first = 0
        for table in _read_tables(reader, file):
            yield str(file), first, _build_dataset(table)
            first += len(table)


def _read_tables(reader: StreamReader, file: Path) -> Iterator[pa.Table]:
    """Yield the rows of a file, `CHUNK` at a time."""
    kind = get_unpacked_suffix(file)
    if file.suffix == ".parquet":
        try:
            with pq.ParquetFile(file) as opened:
                refuse_duplicate_columns(file, opened.schema_arrow.names)
                for batch in opened.iter_batches(CHUNK):
                    # The schema may name the classes of labels.
                    yield pa.Table.from_batches([batch]).replace_schema_metadata(opened.schema_arrow.metadata)
        except pa.ArrowException as error:
            raise DatasetFileError(f"{file} cannot be read: {error}") from error
    elif kind == ".txt":
        with open_unpacked(file) as stream:
            try:
                lines = (line.decode("utf-8-sig").rstrip("\r\n") for line in stream)
                while texts := list(islice(lines, CHUNK)):
                    yield pa.table({"text": pa.array(texts, pa.string())})
            except UnicodeDecodeError as error:
                raise DatasetFileError(f"{file}: not UTF-8 text ({error.reason})") from error
    else:
        with open_row_stream(file, columns=reader.columns) as rows:
            while chunks := list(islice(rows.chunks, 10)):
                yield build_table_from_dicts([row for chunk in chunks for row in chunk])


def _read_iterable(dataset: str, split: str, rows: datasets.IterableDataset) -> Iterator[Chunk]:
    """Yield the rows of a stream of the library `datasets`."""
    first = 0
    for table in rows.with_format("arrow").iter(CHUNK):
        yield f"dataset {dataset!r}, split {split!r}", first, _build_dataset(table)
        first += len(table)


def _build_dataset(table: pa.Table) -> datasets.Dataset:
    import datasets

    # Without a fingerprint the library would compute one from all rows.
    return datasets.Dataset(datasets.table.InMemoryTable(table), fingerprint="chunk")


def open_training_stream(reader: StreamReader, dataset: str, data_dir: str | None, *, divide: bool) -> TrainingStream:
    """Return a dataset as a stream: a folder that a pass has written, or that one writes into the cache now.

    The cached folder is found again by the names, sizes and times of the files, or by the Hub id.

    Args:
        reader: Reader of the problem.
        dataset, data_dir: Data and folder of datasets, as in `open_splits`.
        divide: Whether validation and test are drawn from train where they are missing.

    Raises:
        OSError, ValueError: see `open_splits` and `write_stream`.
    """
    path = Path(resolve_dataset(dataset, data_dir))
    if TrainingStream.is_one(path):
        return TrainingStream(path)
    notes = get_reading_notes()
    states = []
    for split, files in sorted(list_stream_files(reader, dataset, data_dir).items()):
        states += [f"{split} {one.resolve()} {one.stat().st_size} {one.stat().st_mtime_ns}" for one in files]
    settings = sorted(reader.describe().items())
    key = hash_strings([PASS_VERSION, dataset, str(settings), f"{divide} {notes.skip_bad} {notes.no_header}", *states])
    written: list[StreamPass] = []

    def write(temporary: Path) -> None:
        splits = open_splits(reader, dataset, data_dir)
        draw = SPLITS[1:] if divide and list(splits) == ["train"] else ()
        written.append(write_stream(reader, splits, dataset, temporary, draw=draw))

    stream = TrainingStream(build_cached_folder(default_cache_folder() / f"stream-{key}", write))
    # Of a folder that an earlier program has written all notes hold as well; a pass has recorded its own.
    for where, what, number in stream.facts.notes[-1:] if written else stream.facts.notes:
        record_note(where, what, number)
    return stream
