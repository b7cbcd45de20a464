"""Reads votes and the texts of bills, from datasets and from long tables, and checks every vote.

Of a table of bills and of one of legislators only names, parties and texts are read: what came of a vote, and what
others computed from votes, are no inputs. `OUTCOME_WORDS` says what is left out of texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.formats import SAMPLE, DatasetFileError, Rows, TextFormatError
from ctxzoo.data.own_splits import RowGroups
from ctxzoo.data.reading_notes import record_note, skip_or_raise
from ctxzoo.data.row_files import load_split_tables, read_csv_or_tsv, read_json_lines, read_parquet
from ctxzoo.data.sources import cast_to_plain_type, dataset_fingerprint, load_splits
from ctxzoo.data.text_columns import ColumnNames, join_texts, list_column_names
from ctxzoo.data.text_files import get_unpacked_suffix
from ctxzoo.tasks.vote_prediction.sample import BILL, GROUP, LEGISLATOR, TEXT, VOTE, sample_votes
from ctxzoo.tasks.vote_prediction.vote_values import EXPECTED, read_vote_values

if TYPE_CHECKING:
    pass

VOTE_FILES = (".csv", ".tsv", ".jsonl", ".parquet")
BILL_TABLE, LEGISLATOR_TABLE = "bills", "legislators"  # configurations of a dataset whose votes have ids
# All that is read of these tables.
BILL_COLUMNS = ("bill_id", "text")
LEGISLATOR_COLUMNS = ("legislator_id", "name", "party", "state")
COLUMNS = (LEGISLATOR, BILL, VOTE, TEXT, GROUP)


@dataclass(frozen=True)
class VoteColumns:
    """The columns of a long table, one row for each vote.

    Attributes:
        legislator, bill: Names of the columns with legislator and bill, whose values are read as text: "007" stays
            "007".
        vote: Name of the column with the vote, yea or nay in words, numbers or cast codes, as `read_vote_values` reads
            it; rows without a vote are skipped.
        text: Name of the column with the text of the bill, or several to join; the column may be missing.
        party: Name of the column with the legislator's party, for pictures and baselines; the column may be missing.
    """

    legislator: str = LEGISLATOR
    bill: str = BILL
    vote: str = VOTE
    text: ColumnNames = TEXT
    party: str = GROUP

    @property
    def names(self) -> tuple[str, ...]:
        """All names of columns, in the order of `COLUMNS`."""
        return (self.legislator, self.bill, self.vote, *list_column_names(self.text), self.party)


@dataclass(frozen=True)
class Votes:
    """Some votes: numbers of legislators and bills, and 1 yea or 0 nay, (n,) each."""

    legislators: npt.NDArray[np.int64]
    bills: npt.NDArray[np.int64]
    votes: npt.NDArray[np.int64]

    def select(self, rows: Rows) -> Votes:
        """Return a copy with the votes of the given rows alone."""
        return Votes(self.legislators[rows], self.bills[rows], self.votes[rows])


@dataclass(frozen=True)
class VoteSplits:
    """Checked votes.

    Attributes:
        legislators, groups: Name of each legislator, and party of each, "" if unknown.
        bills, texts: Name of each bill, and text of each, "" if unknown.
        splits: Votes of each split, by split name.
        fingerprint: Hash of the content of each split, by split name; the same on every machine.
    """

    legislators: list[str]
    groups: list[str]
    bills: list[str]
    texts: list[str]
    splits: dict[str, Votes]
    fingerprint: dict[str, str]

    def build_table(self, split: str) -> pa.Table:
        """Return a split as a table of `COLUMNS`, in which a bill has one text and a legislator one party."""
        votes = self.splits[split]
        columns = {
            LEGISLATOR: (votes.legislators, self.legislators),
            BILL: (votes.bills, self.bills),
            TEXT: (votes.bills, self.texts),
            GROUP: (votes.legislators, self.groups),
        }
        arrays: dict[str, Any] = {
            name: pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), pa.array(names, pa.string()))
            for name, (numbers, names) in columns.items()
        }
        arrays[VOTE] = pa.array(votes.votes, pa.int8())
        return pa.table({name: arrays[name] for name in COLUMNS})


def read_votes(
    dataset: str,
    data_dir: str | None = None,
    configuration: str | None = None,
    *,
    columns: VoteColumns | None = None,
    texts: str | None = None,
) -> VoteSplits:
    """Read and check a dataset.

    Args:
        dataset: Data to read: "sample" (generated votes); a .csv, .tsv, .jsonl or .parquet file with one row for each
            vote, which gives the split "train"; a folder or Hub id of such rows, or with `legislator_id`, `bill_id`,
            `vote` and the configurations `bills` and `legislators`.
        data_dir: Folder in which datasets with Hub ids are searched first; default: the one that `get_data_folder`
            finds.
        configuration: Name of the dataset's configuration; default: its first.
        columns: Names of the columns in a table with one row for each vote; default: legislator, bill, vote, text and
            party.
        texts: Path of a file with the text of each bill, in the columns of those names; votes keep their own text for
            bills that it lacks; None: none.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read.
        TextFormatError: A vote or column is not as it should be, or someone votes twice, once yea and once nay; the
            message names split or file, row (from 0) and value. No text is of a bill of the votes; a bill has two.
    """
    splits = load_votes(dataset, data_dir, configuration, columns=columns, texts=texts)
    return check_votes(splits, origin=f"dataset {dataset!r}")


def load_votes(
    dataset: str,
    data_dir: str | None = None,
    configuration: str | None = None,
    *,
    columns: VoteColumns | None = None,
    texts: str | None = None,
) -> dict[str, pa.Table]:
    """Return the splits of a dataset as tables of `COLUMNS`, all text but the vote; see `check_votes`."""
    columns = columns or VoteColumns()
    if dataset == SAMPLE:
        loaded = sample_votes()
        locations = {name: f"{dataset}, split {name!r}" for name in loaded}
    else:
        loaded, locations = load_split_tables(
            dataset, data_dir, VOTE_FILES, lambda path: _read_vote_file(path, columns.names), configuration
        )
    tables = {name: split.with_format("arrow")[:] for name, split in loaded.items()}
    if all({"legislator_id", "bill_id", VOTE} <= set(table.column_names) for table in tables.values()):
        if texts is not None:
            raise TextFormatError(f"dataset {dataset!r} has a table of bills with their texts; leave `texts` out")
        return _replace_ids_by_names(dataset, data_dir, tables)
    long = {name: _read_vote_table(locations[name], table, columns) for name, table in tables.items()}
    return long if texts is None else _replace_bill_texts(dataset, long, Path(texts), columns)


def check_votes(splits: Mapping[str, pa.Table], *, origin: str = "the data") -> VoteSplits:
    """Check tables of votes and number their legislators and bills in the order of their names.

    Args:
        splits: Loaded table of votes of each split, by split name.
        origin: Description of the data for error messages, such as "dataset 'x'".

    Raises:
        TextFormatError: as in `check_votes`.
    """
    import datasets

    fingerprint = {}
    for name, table in splits.items():
        rows = {column: table.column(column) for column in table.column_names}
        fingerprint[name] = dataset_fingerprint(datasets.Dataset(datasets.table.InMemoryTable(pa.table(rows))))
    together = pa.concat_tables(list(splits.values())).combine_chunks()
    legislators, of_legislator = _number_sorted_names(together.column(LEGISLATOR))
    bills, of_bill = _number_sorted_names(together.column(BILL))
    votes = together.column(VOTE).to_numpy().astype(np.int64)
    groups = _take_first_value(origin, "legislators with several parties", of_legislator, together.column(GROUP))
    texts = _take_first_value(origin, "bills with several texts", of_bill, together.column(TEXT))
    sizes = np.array([table.num_rows for table in splits.values()])
    ends = np.cumsum(sizes)
    starts = ends - sizes
    _, first = np.unique(of_bill * len(legislators) + of_legislator, return_index=True)
    if len(first) < len(votes):
        row = int(np.setdiff1d(np.arange(len(votes)), first)[0])
        split = int(np.searchsorted(ends, row, side="right"))
        raise TextFormatError(
            f"{origin}, split {list(splits)[split]!r}, row {row - starts[split]}: {legislators[of_legislator[row]]!r} "
            f"votes a second time on {bills[of_bill[row]]!r}; leave one of them out, in whichever split"
        )
    votes_by_split = {
        name: Votes(of_legislator[start:end], of_bill[start:end], votes[start:end])
        for name, start, end in zip(splits, starts, ends, strict=True)
    }
    return VoteSplits(legislators, groups, bills, texts, votes_by_split, fingerprint)


def separate_votes(checked: VoteSplits) -> RowGroups:
    """Group the rows that must stay in one split: each vote is a group of its own."""
    groups, start = {}, 0
    for name, split in checked.splits.items():
        groups[name] = np.arange(start, start := start + len(split.votes))
    return RowGroups(groups=groups, unit="votes", together="one vote")


def _number_sorted_names(column: pa.ChunkedArray) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the different names of a column, sorted (numbers by size), and for each row the number of its name."""
    encoded = column.combine_chunks()
    encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    used = np.unique(encoded.indices.to_numpy())
    order = sorted(used.tolist(), key=lambda place: names[place].zfill(12) if names[place].isdigit() else names[place])
    number = np.zeros(len(names), np.int64)
    number[order] = np.arange(len(order))
    return [names[place] for place in order], number[encoded.indices.to_numpy()]


def _take_first_value(
    origin: str, duplicates_note: str, numbers: npt.NDArray[np.int64], column: pa.ChunkedArray
) -> list[str]:
    """Return for each number the first value of its rows that is not empty, and note numbers with several values."""
    encoded = column.combine_chunks()
    encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.dictionary_encode()
    values: list[str] = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy().astype(np.int64)
    rows = np.flatnonzero(np.array([value != "" for value in values])[codes])
    pairs, first = np.unique(numbers[rows] * len(values) + codes[rows], return_index=True)
    _, how_many = np.unique(pairs // len(values), return_counts=True)
    record_note(origin, f"{duplicates_note}, of which the first is read", int((how_many > 1).sum()))
    first_values = [""] * (int(numbers.max()) + 1)
    for pair in pairs[np.argsort(-first)].tolist():  # the first of all is written last
        first_values[pair // len(values)] = values[pair % len(values)]
    return first_values


def _read_vote_file(path: Path, text_columns: tuple[str, ...]) -> pa.Table:
    """Read a file of votes, .csv, .tsv, .jsonl or .parquet, as a table; `text_columns` are read as text."""
    kind = get_unpacked_suffix(path)
    if kind not in VOTE_FILES:
        raise DatasetFileError(f"{path} is no {', '.join(VOTE_FILES)} file; name one, a folder, or a Hub id")
    if kind == ".parquet":
        return read_parquet(path)
    if kind == ".jsonl":
        rows = read_json_lines(path)
        present = [name for name in dict.fromkeys(text_columns) if any(name in row for row in rows)]
        return pa.table(
            {name: pa.array([convert_to_text(row.get(name)) for row in rows], pa.string()) for name in present}
        )
    return read_csv_or_tsv(path, text_columns)


def convert_to_text(value: Any) -> str | None:
    """Return a name or vote from JSON or Parquet as text, a whole number without a decimal point."""
    if value is None or isinstance(value, str):
        return value
    if value != value:  # NaN, as pandas writes what is missing
        return None
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def read_bill_texts(path: Path, columns: VoteColumns) -> dict[str, str]:
    """Return the text of each bill of a file; a bill that stands there twice with the same text is noted.

    Raises:
        DatasetFileError: There is no such file, or it cannot be read.
        TextFormatError: A column is missing; a bill has two texts.
    """
    if not path.is_file():
        raise DatasetFileError(f"no file {str(path)!r}; expected a table with the columns of bills and of texts")
    names = (columns.bill, *list_column_names(columns.text))
    table = _read_vote_file(path, names)
    for name in names:
        if name not in table.column_names:
            raise TextFormatError(f"{path.name}: no column {name!r}; there are {table.column_names}")
    bills = cast_to_plain_type(table.column(columns.bill)).cast(pa.string()).to_pylist()
    texts = _read_text_columns(path.name, table, columns).to_pylist()
    texts_by_bill: dict[str, str] = {}
    repeated = 0
    for row, (bill, text) in enumerate(zip(bills, texts, strict=True)):
        if not bill:
            error = TextFormatError(f"{path.name}, row {row}: nothing in {columns.bill!r}; fill it in")
            skip_or_raise(f"{path.name}, row {row}", error)
        elif texts_by_bill.setdefault(bill, text or "") != (text or ""):
            error = TextFormatError(
                f"{path.name}, row {row}: a second text of the bill {bill!r}; leave one of them out"
            )
            skip_or_raise(f"{path.name}, row {row}", error)
        else:
            repeated += 1
    record_note(str(path), "repeated texts of a bill, read once", repeated - len(texts_by_bill))
    return texts_by_bill


def _replace_bill_texts(
    dataset: str, tables: Mapping[str, pa.Table], path: Path, columns: VoteColumns
) -> dict[str, pa.Table]:
    """Return the tables of votes with the bills' texts that a file gives.

    Raises:
        TextFormatError: it has one of no bill.
    """
    texts = read_bill_texts(path, columns)
    voted_on = {bill for table in tables.values() for bill in table.column(BILL).unique().to_pylist()}
    matched = voted_on & texts.keys()
    if not matched:
        raise TextFormatError(
            f"{path.name}: none of its {len(texts):,} bills, such as {next(iter(texts), '')!r}, is one of the "
            f"{len(voted_on):,} of {dataset}, such as {min(voted_on)!r}; name the column of bills as both have them"
        )
    record_note(str(path), "bills of the votes without a text in it", len(voted_on) - len(matched))
    record_note(str(path), "texts of bills that nobody votes on, left out", len(texts) - len(matched))
    new_tables = {}
    for name, table in tables.items():
        own, bills = table.column(TEXT).to_pylist(), table.column(BILL).to_pylist()
        of_rows = [texts.get(bill, text) for bill, text in zip(bills, own, strict=True)]
        place = table.column_names.index(TEXT)
        new_tables[name] = table.set_column(place, TEXT, pa.chunked_array([pa.array(of_rows).dictionary_encode()]))
    return new_tables


def _read_vote_table(location: str, table: pa.Table, columns: VoteColumns) -> pa.Table:
    """Convert a table with a vote in each row to a table of `COLUMNS`; rows left out or merged are noted."""
    if table.num_rows == 0:
        raise TextFormatError(f"{location}: no rows; expected at least one vote")
    for name in (columns.legislator, columns.bill, columns.vote):
        if name not in table.column_names:
            raise TextFormatError(
                f"{location}: no column {name!r}; there are {table.column_names}. Name those of legislators, bills and "
                "votes (or set `no_header`, where that is a row)"
            )
    is_kept = np.ones(table.num_rows, bool)
    arrays: dict[str, Any] = {}
    for name, of in ((LEGISLATOR, columns.legislator), (BILL, columns.bill)):
        arrays[name] = pc.fill_null(cast_to_plain_type(table.column(of)).cast(pa.string()), "")
        for row in np.flatnonzero(pc.equal(arrays[name], "").to_numpy()).tolist():
            error = TextFormatError(f"{location}, row {row}: nothing in {of!r}; fill it in or leave the row out")
            skip_or_raise(f"{location}, row {row}", error)
            is_kept[row] = False
    votes = read_vote_values(location, table.column(columns.vote), columns.vote)
    arrays[VOTE] = pa.chunked_array([pa.array(votes, pa.int8())])
    arrays[TEXT] = _read_text_columns(location, table, columns)
    arrays[GROUP] = _read_optional_column(table, columns.party)
    encoded = {name: arrays[name].dictionary_encode() if name != VOTE else arrays[name] for name in COLUMNS}
    is_kept &= votes >= 0
    if not is_kept.any():
        raise TextFormatError(f"{location}: no row has a vote in {columns.vote!r}; {EXPECTED}")
    rows = np.flatnonzero(is_kept)
    return _remove_repeated_votes(location, pa.table(encoded).take(pa.array(rows)), rows)


def _read_text_columns(location: str, table: pa.Table, columns: VoteColumns) -> pa.ChunkedArray:
    """Return the text of each row (rows,), from one or several columns; "" where it has none.

    Raises:
        TextFormatError: of several columns only some are there.
    """
    names = list_column_names(columns.text)
    absent = [name for name in names if name not in table.column_names]
    if 0 < len(absent) < len(names):
        raise TextFormatError(f"{location}: no column {absent[0]!r} of texts; there are {table.column_names}")
    parts = [_read_optional_column(table, name) for name in names]
    if len(parts) == 1 or absent:
        return parts[0]
    rows = zip(*(part.to_pylist() for part in parts), strict=True)
    return pa.chunked_array([pa.array(map(join_texts, rows), pa.string())])


def _read_optional_column(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column as text (rows,), "" for missing values or a missing column."""
    if name not in table.column_names:
        return pa.chunked_array([pa.array([""] * table.num_rows, pa.string())])
    return pc.fill_null(cast_to_plain_type(table.column(name)).cast(pa.string()), "")


def _remove_repeated_votes(location: str, table: pa.Table, rows: npt.NDArray[np.int64]) -> pa.Table:
    """Remove the second vote of a legislator on a bill; votes that contradict each other are errors.

    Args:
        location: Name of the data in error messages.
        table: Table of votes with columns for legislator, bill and vote.
        rows: (votes,) row number of each vote in the source data, for error messages.

    Raises:
        TextFormatError: Someone votes yea and nay on a bill.
    """
    legislators, bills = (
        table.column(name).combine_chunks().indices.to_numpy().astype(np.int64) for name in (LEGISLATOR, BILL)
    )
    votes = table.column(VOTE).to_numpy()
    _, first, of_row = np.unique(legislators * (bills.max() + 1) + bills, return_index=True, return_inverse=True)
    if len(first) == len(votes):
        return table
    contradicting = np.flatnonzero(votes != votes[first][of_row])
    for place in contradicting.tolist():
        vote_row = table.slice(place, 1).to_pylist()[0]
        before = f"{'yea' if vote_row[VOTE] == 0 else 'nay'} in row {rows[first[of_row[place]]]}"
        message = (
            f"{location}, row {rows[place]}: {vote_row[LEGISLATOR]!r} votes a second time on {vote_row[BILL]!r}, "
            f"otherwise than {before}; leave one of them out"
        )
        skip_or_raise(f"{location}, row {rows[place]}", TextFormatError(message))
    record_note(location, "repeated votes, read once", len(votes) - len(first) - len(contradicting))
    return table.take(pa.array(np.sort(first)))


def _replace_ids_by_names(dataset: str, data_dir: str | None, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Replace ids of legislators and bills by their names, and add texts and parties."""
    bills = _load_table_columns(dataset, data_dir, BILL_TABLE, BILL_COLUMNS)
    people = _load_table_columns(dataset, data_dir, LEGISLATOR_TABLE, LEGISLATOR_COLUMNS)
    names = format_legislator_names(people)
    for column, of in (("legislator_id", people), ("bill_id", bills)):
        twice = [number for number, count in Counter(of[column]).items() if count > 1]
        if twice:
            raise TextFormatError(f"dataset {dataset!r}: {column} {twice[0]!r} stands twice in the table of its names")
    places = {
        "legislator_id": {number: place for place, number in enumerate(people["legislator_id"])},
        "bill_id": {number: place for place, number in enumerate(bills["bill_id"])},
    }
    named_tables = {}
    for split, table in tables.items():
        location = f"dataset {dataset!r}, split {split!r}"
        rows = {}
        for column, place in places.items():
            ids = table.column(column).to_pylist()
            unknown = next((row for row, number in enumerate(ids) if number not in place), None)
            if unknown is not None:
                raise TextFormatError(
                    f"{location}, row {unknown}: {column} {ids[unknown]!r} is in no table of its names"
                )
            rows[column] = pa.array([place[number] for number in ids], pa.int32())
        values = {
            LEGISLATOR: (rows["legislator_id"], names),
            BILL: (rows["bill_id"], [str(number) for number in bills["bill_id"]]),
            TEXT: (rows["bill_id"], [text or "" for text in bills["text"]]),
            GROUP: (rows["legislator_id"], people["party"]),
        }
        encoded: dict[str, Any] = {
            name: pa.DictionaryArray.from_arrays(index, pa.array(labels, pa.string()))
            for name, (index, labels) in values.items()
        }
        votes = read_vote_values(location, table.column(VOTE), VOTE)
        encoded[VOTE] = pa.array(votes, pa.int8())
        voted_rows = np.flatnonzero(votes >= 0)
        rows_of = pa.table({name: encoded[name] for name in COLUMNS})
        named_tables[split] = _remove_repeated_votes(
            location, rows_of if len(voted_rows) == len(votes) else rows_of.take(pa.array(voted_rows)), voted_rows
        )
    return named_tables


def format_legislator_names(legislator_table: Any) -> list[str]:
    """Return the names of a table of legislators with party and state, and, where two agree, with their ids."""
    titles = [
        f"{name} ({party[:1]}, {state})"
        for name, party, state in zip(
            legislator_table["name"], legislator_table["party"], legislator_table["state"], strict=True
        )
    ]
    twice = Counter(titles)
    return [
        title if twice[title] == 1 else f"{title} [{number}]"
        for title, number in zip(titles, legislator_table["legislator_id"], strict=True)
    ]


def _load_table_columns(
    dataset: str, data_dir: str | None, name: str, columns: tuple[str, ...]
) -> dict[str, list[Any]]:
    """Return the named columns of a table, and no others.

    Raises:
        TextFormatError: one of them is not there.
    """
    table = load_splits(dataset, data_dir, name)["train"]
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        raise TextFormatError(
            f"dataset {dataset!r}, configuration {name!r}: the columns are {table.column_names}; expected "
            f"{missing[0]!r}"
        )
    return {column: table[column][:] for column in columns}
