"""Files of columns are read as they stand; pandas is the oracle, and what is bad adds up to the lines of the file."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxzoo.data.formats import DatasetFileError, TextFormatError
from ctxzoo.data.reading_notes import LEFT_OUT, collect_reading_notes
from ctxzoo.data.row_files import (
    load_split_tables,
    parse_number_columns,
    parse_time_column,
    read_csv_or_tsv,
    read_json_lines,
)
from ctxzoo.data.text_files import read_text_lines

PROPERTY = settings(max_examples=50, deadline=None, derandomize=True)
CHARACTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
FIELDS = st.one_of(
    st.text(st.one_of(st.sampled_from("a,\t\"'\n\r ;0é中\u2028"), CHARACTERS), max_size=8),
    st.sampled_from(["007", "1", "01", "1.0", "NA", "null", "nan", "true", "", "1e5", "2024-01-31", " x ", '""']),
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    width = draw(st.integers(1, 4))
    names = draw(st.lists(st.text("abcé", min_size=1, max_size=4), min_size=width, max_size=width, unique=True))
    return names, draw(st.lists(st.lists(FIELDS, min_size=width, max_size=width), max_size=6))


def written(
    names: list[str], rows: list[list[str]], delimiter: str, end: str, quoting: int = csv.QUOTE_MINIMAL
) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([names, *rows])
    return text.getvalue().encode()


@PROPERTY
@given(
    tables(),
    st.sampled_from([".csv", ".tsv"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.booleans(),
    st.sampled_from(["", ".gz", ".bz2"]),
)
def test_fields_are_those_that_pandas_reads(
    tmp_path_factory: pytest.TempPathFactory,
    table: tuple[list[str], list[list[str]]],
    kind: str,
    end: str,
    quoting: int,
    has_bom: bool,
    packed: str,
) -> None:
    delimiter = "," if kind == ".csv" else "\t"
    names, rows = table
    if end == "\r":  # a line feed anywhere says that lines end with line feeds
        rows = [[field.replace("\n", " ") for field in row] for row in rows]
    if quoting == csv.QUOTE_MINIMAL:  # csv would write a carriage return without quotes
        rows = [[field.replace("\r", " ") for field in row] for row in rows]
    content = written(names, rows, delimiter, end, quoting)
    content = b"\xef\xbb\xbf" + content if has_bom else content
    path = tmp_path_factory.mktemp("files") / f"a{kind}{packed}"
    path.write_bytes({"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[packed](content))
    with collect_reading_notes() as notes:
        found = read_csv_or_tsv(path)
    options = {"dtype": str, "keep_default_na": False, "na_filter": False, "skip_blank_lines": False}
    oracle = pd.read_csv(path, sep=delimiter, encoding="utf-8-sig", **options)
    assert found.column_names == list(oracle.columns)
    assert set(found.schema.types) == {pa.string()}
    assert [list(row.values()) for row in found.to_pylist()] == oracle.values.tolist()
    assert notes.counts() == {}
    with collect_reading_notes(no_header=True):
        assert [list(row.values()) for row in read_csv_or_tsv(path).to_pylist()] == [names, *oracle.values.tolist()]


@PROPERTY
@given(st.lists(st.dictionaries(st.text(CHARACTERS, max_size=3), FIELDS, max_size=3), max_size=5), st.booleans())
def test_json_lines_are_those_of_json(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]], is_ascii: bool
) -> None:
    path = tmp_path_factory.mktemp("files") / "a.jsonl"
    lines = [json.dumps(row, ensure_ascii=is_ascii) for row in rows]
    path.write_bytes("\r\n".join([*lines, "", "  "]).encode("utf-8-sig"))
    assert read_json_lines(path) == [json.loads(line) for line in lines]


@PROPERTY
@given(st.lists(st.text(CHARACTERS, min_size=1).filter(lambda text: text.strip() and "\n" not in text), min_size=1))
def test_a_carriage_return_in_a_text_is_no_end_of_it(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    """What stands behind it was taken for the next text, so that all labels behind it belonged to other texts."""
    path = tmp_path_factory.mktemp("files") / "a.txt"
    texts = [text.strip("\r\ufeff") or "x" for text in texts]
    for end in ("\n", "\r\n"):
        path.write_bytes((end.join(texts) + end).encode())
        assert read_text_lines(path) == texts


def test_lines_of_old_files_end_with_carriage_returns(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\rtwo\r")
    assert read_text_lines(tmp_path / "a.txt") == ["one", "two"]
    (tmp_path / "b.txt").write_bytes(b"")
    assert read_text_lines(tmp_path / "b.txt") == []


BAD_LINES = {
    '"open, 1': 'a quote (") opens a field and none closes it',
    '"a"b,2': 'a quote (") stands inside a field in quotes',
    "a\rb,3": "a carriage return stands inside a field",
    "a,b,c": "3 columns, expected 2: 'a | b | c'; put a text that holds the separator in quotes",
    "alone": "1 column, expected 2: 'alone'",
}


@PROPERTY
@given(st.lists(st.sampled_from([*BAD_LINES, "good,1", '"also ""good""",2', "empty,3,,", ""]), max_size=12))
def test_bad_lines_are_named_and_the_numbers_add_up(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("files") / "a.csv"
    path.write_bytes("\n".join(["text,label", *lines, ""]).encode())
    with collect_reading_notes(skip_bad=True) as notes:
        rows = read_csv_or_tsv(path).num_rows
    counts = notes.counts()
    assert rows + counts.get(LEFT_OUT, 0) + counts.get("empty lines, passed over", 0) == len(lines)
    assert counts.get(LEFT_OUT, 0) == sum(line in BAD_LINES for line in lines)
    trailing = "rows with empty fields behind the last column, which were left out"
    assert counts.get(trailing, 0) == lines.count("empty,3,,")
    for number, line in enumerate(lines, start=2):
        if line in BAD_LINES:
            reason = notes.left_out[f"{path}, line {number}"]  # the quote of a later line may end that of `"open`
            assert BAD_LINES[line] in reason or (line[:5] == '"open' and BAD_LINES['"a"b,2'] in reason)
    first = next((number for number, line in enumerate(lines, start=2) if line in BAD_LINES), None)
    if first is not None:
        with pytest.raises(DatasetFileError, match=rf"a\.csv, line {first}: "):
            read_csv_or_tsv(path)


def test_a_row_of_megabytes_is_read(tmp_path: Path) -> None:
    long = "word " * 500_000
    (tmp_path / "a.csv").write_text(f'text,label\n"{long}",1\nshort,0\n')
    assert read_csv_or_tsv(tmp_path / "a.csv").column("text").to_pylist() == [long, "short"]


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ((), ["0", "1", "2"]),
        (("text", "label"), ["text", "label", "2"]),
        (("1", "0"), ["0", "1", "2"]),
        (("2", "label"), ["label", "1", "2"]),
    ],
)
def test_columns_without_a_header_are_numbered(tmp_path: Path, columns: tuple[str, ...], names: list[str]) -> None:
    (tmp_path / "a.tsv").write_text("5\t6\t7\n8\t9\t10\n")
    with collect_reading_notes(no_header=True):
        found = read_csv_or_tsv(tmp_path / "a.tsv", columns)
    assert found.column_names == names
    assert found.column(0).to_pylist() == ["5", "8"]


@pytest.mark.parametrize("header", ["5", "1.5,2", "5.5,price", "-3,4", "1,2,3"])
def test_a_first_line_of_numbers_is_no_header(tmp_path: Path, header: str) -> None:
    (tmp_path / "a.csv").write_text(f"{header}\n{header}\n")
    with pytest.raises(DatasetFileError, match=r"numbers and no names of columns; add a line of names .or set `no_he"):
        read_csv_or_tsv(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text(f"year,2019,2020\n{header}\n")
    assert header.count(",") != 2 or read_csv_or_tsv(tmp_path / "a.csv").column_names == ["year", "2019", "2020"]


def test_numbers_and_times_are_made_where_every_row_is_one() -> None:
    columns = {
        "whole": ["1", " 2"],
        "real": ["1", "2.5e3"],
        "truth": ["true", "False"],
        "mixed": ["1", "NA"],
        "empty": ["1", ""],
        "other": ["1", "2"],
    }
    table = parse_number_columns(pa.table(columns), ("whole", "real", "truth", "mixed", "empty", "absent"))
    kinds = dict(zip(table.column_names, map(str, table.schema.types), strict=True))
    assert kinds == {
        **{"whole": "int64", "real": "double", "truth": "bool", "mixed": "string", "empty": "string"},
        "other": "string",
    }
    for written_as in (["2024-01-31", "2024-02-01"], ["2024-01-31 18:05:00", "2024-02-01T00:00:01"]):
        assert str(parse_time_column(pa.table({"t": written_as}), "t").schema.field("t").type) == "timestamp[us]"
    assert str(parse_time_column(pa.table({"t": ["2024-01-31T18:05:00Z"]}), "t").schema.field("t").type).endswith(
        "tz=UTC]"
    )
    assert str(parse_time_column(pa.table({"t": ["2024-01-31", "soon"]}), "t").schema.field("t").type) == "string"


def test_a_folder_is_read_as_its_files_are(tmp_path: Path) -> None:
    """`datasets` would take 007 for 7, and NA for nothing."""
    (tmp_path / "train_1.csv").write_text("text,label\na,007\n")
    (tmp_path / "train_2.csv").write_text("text,label\nb,NA\n")
    (tmp_path / "test.csv.gz").write_bytes(gzip.compress(b"text,label\nc,01\n"))
    found, where = load_split_tables(str(tmp_path), None, (".csv",), lambda path: read_csv_or_tsv(path))
    assert {name: split["label"][:] for name, split in found.items()} == {"train": ["007", "NA"], "test": ["01"]}
    assert where["test"] == f"dataset {str(tmp_path)!r}, split 'test'"
    (tmp_path / "train_2.csv").write_text("text,kind\nb,NA\n")
    with pytest.raises(TextFormatError, match=r"its files have the columns \['text', 'label'\] and \['text', 'kind'\]"):
        load_split_tables(str(tmp_path), None, (".csv",), lambda path: read_csv_or_tsv(path))
