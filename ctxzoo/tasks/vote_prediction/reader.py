"""Reads votes and the texts of bills, from datasets and from long tables, and checks every vote.

Of a table of bills and of one of legislators only names, parties and texts are read: what came of a vote, and what
others computed from votes, are no inputs. `OUTCOME_WORDS` says what is left out of texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ctxzoo.data.formats import SAMPLE, SPLITS, TextFormatError
from ctxzoo.data.row_files import read_delimited, read_parquet
from ctxzoo.data.sources import DatasetFileError, dataset_fingerprint, load_splits, plain_column, resolve_dataset
from ctxzoo.tasks.vote_prediction.sample import BILL, GROUP, LEGISLATOR, TEXT, VOTE, sample_votes

VOTE_FILES = (".csv", ".tsv", ".parquet")
BILL_TABLE, LEGISLATOR_TABLE = "bills", "legislators"  # configurations of a dataset whose votes have ids
# All that is read of these tables.
BILL_COLUMNS = ("bill_id", "text")
LEGISLATOR_COLUMNS = ("legislator_id", "name", "party", "state")
COLUMNS = (LEGISLATOR, BILL, VOTE, TEXT, GROUP)


@dataclass(frozen=True)
class VoteColumns:
    """The columns of a long table, one row for each vote.

    Attributes:
        legislator, bill: any values, which are read as text.
        vote: 1 yea, 0 nay, or booleans.
        text: of the bill; it may be missing, here and in the table of texts.
        party: of the legislator, for pictures and baselines; it may be missing.
    """

    legislator: str = LEGISLATOR
    bill: str = BILL
    vote: str = VOTE
    text: str = TEXT
    party: str = GROUP


@dataclass(frozen=True)
class Votes:
    """Some votes: numbers of legislators and bills, and 1 yea or 0 nay, (n,) each."""

    legislators: npt.NDArray[np.int64]
    bills: npt.NDArray[np.int64]
    votes: npt.NDArray[np.int64]


@dataclass(frozen=True)
class VoteSplits:
    """Checked votes.

    Attributes:
        legislators, groups: name of each, and its party, or "".
        bills, texts: name of each, and its text, or "".
        splits: name to votes.
        fingerprint: content hash per split, the same on every machine.
    """

    legislators: list[str]
    groups: list[str]
    bills: list[str]
    texts: list[str]
    splits: dict[str, Votes]
    fingerprint: dict[str, str]


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
        dataset: "sample" (generated votes); a .csv, .tsv or .parquet file, a row for each vote, which is the split
            "train"; a folder or Hub id that `datasets` can load, whose rows are such, or have `legislator_id`,
            `bill_id` and `vote`, with the configurations `bills` and `legislators` that name them.
        data_dir: folder searched for Hub ids; default: see `data_folder`.
        configuration: of a dataset with several; default: its first.
        columns: of long tables.
        texts: a .csv, .tsv or .parquet file with the text of each bill, in the columns of that name.

    Raises:
        DatasetUnavailableError: neither a folder nor the Hub has it.
        DatasetFileError: a file cannot be read.
        TextFormatError: a vote or column is not as it should be; the message names split or file, row (from 0) and
            value.
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
    """Return the splits of a dataset as tables of `COLUMNS`, all text but the vote; see `read_votes`."""
    path = Path(resolve_dataset(dataset, data_dir))
    columns = columns or VoteColumns()
    if dataset == SAMPLE:
        loaded: Mapping[str, Any] = sample_votes()
    elif path.is_file():
        table = _file(path, (columns.legislator, columns.bill, columns.text, columns.party))
        loaded = {"train": datasets.Dataset(datasets.table.InMemoryTable(table))}
    else:
        loaded = load_splits(dataset, data_dir, configuration, sample=True)
    found = {name: loaded[name] for name in SPLITS if name in loaded}
    if not found:
        raise TextFormatError(f"dataset {dataset!r} has the splits {sorted(loaded)}; expected one of {list(SPLITS)}")
    tables = {name: split.with_format("arrow")[:] for name, split in found.items()}
    if all({"legislator_id", "bill_id", VOTE} <= set(table.column_names) for table in tables.values()):
        return _with_names(dataset, data_dir, tables)
    of_bills = None if texts is None else _texts(Path(texts), columns)
    return {name: _long(f"{dataset}, split {name!r}", table, columns, of_bills) for name, table in tables.items()}


def check_votes(splits: Mapping[str, pa.Table], *, origin: str = "the data") -> VoteSplits:
    """Check tables of `COLUMNS`, and number their legislators and bills, in the order of their names.

    Args:
        splits: name to table.
        origin: what error messages call the data.

    Raises:
        TextFormatError: as in `read_votes`.
    """
    fingerprint = {}
    for name, table in splits.items():
        rows = {column: table.column(column) for column in table.column_names}
        fingerprint[name] = dataset_fingerprint(datasets.Dataset(datasets.table.InMemoryTable(pa.table(rows))))
    together = pa.concat_tables(list(splits.values())).combine_chunks()
    legislators, of_legislator = _numbered(together.column(LEGISLATOR))
    bills, of_bill = _numbered(together.column(BILL))
    votes = together.column(VOTE).to_numpy().astype(np.int64)
    groups, texts = (
        _first(numbers, together.column(column).combine_chunks(), len(names))
        for names, numbers, column in ((legislators, of_legislator, GROUP), (bills, of_bill, TEXT))
    )
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
    found = {
        name: Votes(of_legislator[start:end], of_bill[start:end], votes[start:end])
        for name, start, end in zip(splits, starts, ends, strict=True)
    }
    return VoteSplits(legislators, groups, bills, texts, found, fingerprint)


def _numbered(column: pa.ChunkedArray) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the names of a column, sorted, numbers by size, and the number of each row."""
    encoded = column.combine_chunks()
    encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    used = np.unique(encoded.indices.to_numpy())
    order = sorted(used.tolist(), key=lambda place: names[place].zfill(12) if names[place].isdigit() else names[place])
    number = np.zeros(len(names), np.int64)
    number[order] = np.arange(len(order))
    return [names[place] for place in order], number[encoded.indices.to_numpy()]


def _first(numbers: npt.NDArray[np.int64], column: Any, size: int) -> list[str]:
    """Return the first value of each number."""
    _, first = np.unique(numbers, return_index=True)
    assert len(first) == size
    values: list[str] = column.take(pa.array(first)).to_pylist()
    return values


def _file(path: Path, text_columns: tuple[str, ...]) -> pa.Table:
    kind = path.suffix.lower()
    if kind not in VOTE_FILES:
        raise DatasetFileError(f"{path} is no {', '.join(VOTE_FILES)} file; name one, a folder, or a Hub id")
    return read_parquet(path) if kind == ".parquet" else read_delimited(path, text_columns)


def read_texts(path: Path, column: str) -> list[str]:
    """Return a column of texts of a .csv, .tsv or .parquet file.

    Raises:
        OSError, ValueError: there is no such file or column.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no file {str(path)!r}; expected a .csv, .tsv or .parquet file of bills")
    table = _file(path, (column,))
    if column not in table.column_names:
        raise TextFormatError(f"{path.name}: no column {column!r}; there are {table.column_names}")
    return [text or "" for text in plain_column(table.column(column)).cast(pa.string()).to_pylist()]


def _texts(path: Path, columns: VoteColumns) -> dict[str, str]:
    """Return the text of each bill of a file."""
    if not path.is_file():
        raise DatasetFileError(f"no file {str(path)!r}; expected a table with the columns of bills and of texts")
    table = _file(path, (columns.bill, columns.text))
    for name in (columns.bill, columns.text):
        if name not in table.column_names:
            raise TextFormatError(f"{path.name}: no column {name!r}; there are {table.column_names}")
    bills = table.column(columns.bill).cast(pa.string()).to_pylist()
    return dict(zip(bills, (text or "" for text in table.column(columns.text).to_pylist()), strict=True))


def _long(where: str, table: pa.Table, columns: VoteColumns, texts: Mapping[str, str] | None) -> pa.Table:
    """Return a long table with the columns of ours."""
    if table.num_rows == 0:
        raise TextFormatError(f"{where}: no rows; expected at least one vote")
    for name in (columns.legislator, columns.bill, columns.vote):
        if name not in table.column_names:
            raise TextFormatError(
                f"{where}: no column {name!r}; there are {table.column_names}. Name those of legislators, bills and "
                "votes"
            )
        column = plain_column(table.column(name))
        empty = pc.equal(column, "") if pa.types.is_string(column.type) else column.is_null()
        missing = pc.index(pc.fill_null(empty, True), True).as_py()
        if missing >= 0:
            raise TextFormatError(f"{where}, row {missing}: nothing in {name!r}; fill it in or leave the row out")
    names = ((LEGISLATOR, columns.legislator), (BILL, columns.bill))
    found = {name: plain_column(table.column(of)).cast(pa.string()) for name, of in names}
    found[VOTE] = _checked(where, plain_column(table.column(columns.vote)))
    empty_text = pa.chunked_array([pa.array([""] * table.num_rows, pa.string())])
    if texts is not None:
        of_row = [texts.get(bill, "") for bill in found[BILL].to_pylist()]
        found[TEXT] = pa.chunked_array([pa.array(of_row, pa.string())])
    for name, of in ((TEXT, columns.text), (GROUP, columns.party)):
        if name not in found:
            given = of in table.column_names
            found[name] = pc.fill_null(plain_column(table.column(of)).cast(pa.string()), "") if given else empty_text
    return pa.table({name: found[name].dictionary_encode() if name != VOTE else found[name] for name in COLUMNS})


def _checked(where: str, votes: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return votes as int8.

    Raises:
        TextFormatError: another value than 1 and 0, true and false.
    """
    kind = votes.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise TextFormatError(f"{where}: votes are {votes[0].as_py()!r} and the like; expected 1 for yea and 0 for nay")
    values = votes.to_numpy() if not pa.types.is_boolean(kind) else votes.cast(pa.int8()).to_numpy()
    wrong = np.flatnonzero(~np.isin(values, (0, 1)))
    if len(wrong):
        row = int(wrong[0])
        raise TextFormatError(
            f"{where}, row {row}: the vote is {values[row]:g}; expected 1 for yea and 0 for nay, and no row where none "
            "is known"
        )
    return pa.chunked_array([pa.array(values.astype(np.int8))])


def _with_names(dataset: str, data_dir: str | None, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return tables of ids with names, texts and parties."""
    bills = _table(dataset, data_dir, BILL_TABLE, BILL_COLUMNS)
    people = _table(dataset, data_dir, LEGISLATOR_TABLE, LEGISLATOR_COLUMNS)
    names = legislator_names(people)
    places = {
        "legislator_id": {number: place for place, number in enumerate(people["legislator_id"])},
        "bill_id": {number: place for place, number in enumerate(bills["bill_id"])},
    }
    found = {}
    for split, table in tables.items():
        where = f"dataset {dataset!r}, split {split!r}"
        rows = {}
        for column, place in places.items():
            ids = table.column(column).to_pylist()
            unknown = next((row for row, number in enumerate(ids) if number not in place), None)
            if unknown is not None:
                raise TextFormatError(f"{where}, row {unknown}: {column} {ids[unknown]!r} is in no table of its names")
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
        encoded[VOTE] = _checked(where, table.column(VOTE))
        found[split] = pa.table({name: encoded[name] for name in COLUMNS})
    return found


def legislator_names(people: Any) -> list[str]:
    """Return the names of a table of legislators with party and state, and, where two agree, with their ids."""
    titles = [
        f"{name} ({party[:1]}, {state})"
        for name, party, state in zip(people["name"], people["party"], people["state"], strict=True)
    ]
    twice = Counter(titles)
    return [
        title if twice[title] == 1 else f"{title} [{number}]"
        for title, number in zip(titles, people["legislator_id"], strict=True)
    ]


def _table(dataset: str, data_dir: str | None, name: str, columns: tuple[str, ...]) -> dict[str, list[Any]]:
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
