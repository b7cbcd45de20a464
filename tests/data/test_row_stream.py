"""Rows come out of files, folders and pipes as they stand there, and answers go in beside them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxzoo.data.answer_files import Answer, write_answers
from ctxzoo.data.formats import DatasetFileError
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.data.row_stream import open_row_stream
from ctxzoo.data.rows import CHUNK

ROWS = [
    {"id": "007", "text": "one, two", "note": 'a "quoted" word'},
    {"id": "01", "text": "three\nlines\nhere", "note": ""},
    {"id": "1", "text": "NA", "note": "ä\u2028b"},
]


def read(path: Path, **options: Any) -> list[dict[str, Any]]:
    with open_row_stream(path, **options) as rows:
        return [row for chunk in rows.chunks for row in chunk]


def write(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    """The rows in a file of the kind that its name says."""
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        pd.DataFrame(rows).to_parquet(path)
        return path
    text = io.StringIO()
    if kind == "jsonl":
        text.write("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    else:
        writer = csv.DictWriter(text, list(rows[0]), delimiter="," if kind == "csv" else "\t")
        writer.writeheader()
        writer.writerows(rows)
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.csv.gz", "a.jsonl.gz", "a.tsv.gz"])
def test_every_kind_of_file_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    assert read(write(tmp_path / name)) == ROWS


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.csv.gz"])
def test_a_pipe_is_known_by_what_it_holds(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with write(tmp_path / name).open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert read(Path("-"), columns=["text"]) == ROWS
    kind = name.removesuffix(".gz").removeprefix("a.")
    assert capsys.readouterr().err == f"ctxzoo: the standard input is read as {kind} (--format says otherwise)\n"


def test_a_folder_gives_its_splits_one_after_another(tmp_path: Path) -> None:
    for split, rows in (("test", ROWS[2:]), ("train", ROWS[:2])):
        write(tmp_path / f"{split}.jsonl", rows)
    expected = [{"split": split, **row} for split, row in zip(("train", "train", "test"), ROWS, strict=True)]
    assert read(tmp_path) == expected


def test_lines_end_with_a_line_feed_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("\ufeffone\r\nt\rwo\nthr\u2028ee\u0085\n".encode())
    assert [row["text"] for row in read(file)] == ["one", "t\rwo", "thr\u2028ee\u0085"]


CELL = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=8)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_cells_are_those_of_pandas(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], end: str, marked: bool
) -> None:
    file = tmp_path_factory.mktemp("rows") / "a.csv"
    with file.open("w", encoding="utf-8-sig" if marked else "utf-8", newline="") as opened:
        csv.writer(opened, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([("a", "b"), *rows])
    told = pd.read_csv(file, dtype=str, keep_default_na=False)
    assert read(file) == told.to_dict("records")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "holds no row"),
        ("a.csv", b"a,b\n", "holds no row"),
        ("a.csv", b"a,b\n1,2\n1,2,3\n", "line 3: 3 columns, expected 2: '1 | 2 | 3'; put a text"),
        ("a.csv", b"a;b\n1;2\n", "set apart by semicolons"),
        ("a.csv", b"a,a\n1,2\n", "several columns are called 'a'"),
        ("a.csv", b'a,b\n1,"2\n', "line 2: .*: a quote .* opens a field and none closes it; write"),
        ("a.csv", b"a,b\n1,\xff\n", "not UTF-8 text"),
        ("a.jsonl", b'{"a": 1}\n{', "line 2 is not JSON"),
        ("a.jsonl", b"[1]", "expected an object"),
        ("a.txt", b"one\n\ntwo", "line 2 is empty"),
        ("a.json", b"{}", "a.json is a .json file"),
        ("a.parquet", b"PAR1 and no more", "cannot be read"),
        ("a.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-6], "cannot be unpacked"),
    ],
)
def test_a_damaged_file_is_told_in_one_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DatasetFileError, match=message) as error:
        read(tmp_path / name)
    assert "\n" not in str(error.value)


def test_bad_rows_can_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n1\n3,4\n")
    with collect_reading_notes(skip_bad=True) as notes:
        assert [row["a"] for row in read(tmp_path / "a.csv")] == ["1", "3"]
    assert sum(notes.counts().values()) == 1


def lengths(rows: list[dict[str, Any]]) -> list[Answer]:
    """For each row the length of its text, and a line for each of two halves."""
    numbers = [len(row["text"]) for row in rows]
    return [Answer({"length": n, "halves": [n / 2] * 2}, [{"half": n / 2}, {"half": n / 2}], {"n": n}) for n in numbers]


def test_answers_stand_beside_the_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("csv", "tsv", "jsonl", "json"):
        assert write_answers([ROWS[:2], ROWS[2:]], lengths, tmp_path / f"out.{kind}") == 3
    expected = [{**row, "half": len(row["text"]) / 2} for row in ROWS for _ in range(2)]
    for kind, separator in (("csv", ","), ("tsv", "\t")):
        found = pd.read_csv(tmp_path / f"out.{kind}", sep=separator, dtype={"id": str}, keep_default_na=False)
        assert found.to_dict("records") == expected
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
    assert lines == [{**row, **answer.fields} for row, answer in zip(ROWS, lengths(ROWS), strict=True)]
    alone = [answer.alone for answer in lengths(ROWS)]
    assert (tmp_path / "out.json").read_text() == json.dumps(alone, indent=1) + "\n"
    assert write_answers([ROWS], lengths, None, kind="csv") == 3
    assert capsys.readouterr().out == (tmp_path / "out.csv").read_text(encoding="utf-8")


def test_keyed_answers_are_one_object(tmp_path: Path) -> None:
    def answer(rows: list[dict[str, Any]]) -> list[Answer]:
        return [Answer({}, [{}], row["text"], key=row["id"]) for row in rows]

    write_answers([ROWS], answer, tmp_path / "a.json")
    expected = {row["id"]: row["text"] for row in ROWS}
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == json.dumps(
        expected, indent=1, ensure_ascii=False
    ) + "\n"


def test_a_column_of_the_answers_name_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    for kind, rows, message in (
        ("csv", [{"text": "a", "half": 1}], "a column is called 'half' already"),
        ("jsonl", [{"text": "a", "length": 1}], "a column is called 'length' already"),
        ("csv", [{"text": "a"}, {"text": "b", "more": 1}], "row 1 of the answers has 'more', which the first has not"),
    ):
        out = tmp_path / f"out.{kind}"
        out.write_text("earlier")
        with pytest.raises(ValueError, match=message):
            write_answers([rows], lengths, out)
        assert out.read_text() == "earlier"
        assert list(tmp_path.glob(".*")) == []


def test_the_memory_holds_one_chunk(tmp_path: Path) -> None:
    """A hundred chunks take no more memory than two."""

    def peak(rows: int) -> int:
        file = tmp_path / f"{rows}.csv"
        file.write_text("id,text\n" + "".join(f"{number},{'word ' * 20}\n" for number in range(rows)))
        tracemalloc.start()
        with open_row_stream(file) as stream:
            assert write_answers(stream.chunks, lengths, tmp_path / "out.csv") == rows
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    few, many = peak(2 * CHUNK), peak(20 * CHUNK)
    assert many < 1.2 * few


def test_rows_are_read_while_they_are_used(tmp_path: Path) -> None:
    seen: list[int] = []

    def chunks() -> Iterator[list[dict[str, Any]]]:
        for number in range(3):
            seen.append(number)
            yield [{"text": "a"}]

    def answer(rows: list[dict[str, Any]]) -> list[Answer]:
        seen.append(10)
        return lengths(rows)

    write_answers(chunks(), answer, tmp_path / "a.jsonl")
    assert seen == [0, 10, 1, 10, 2, 10]
