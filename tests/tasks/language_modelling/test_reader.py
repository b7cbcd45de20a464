from __future__ import annotations

import tracemalloc
from pathlib import Path

import datasets
import pandas as pd
import pytest

from ctxzoo.data.formats import DatasetFileError, TextFormatError
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.tasks.language_modelling.reader import check_lines, read_lines

LINES = ["the cat sat", "a dog, too"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "the cat sat\n\n   \na dog, too\n"),
        ("a.csv", 'number,text\n1,the cat sat\n2,"a dog, too"\n3,\n'),
        ("a.tsv", "number\tsentence\n1\tthe cat sat\n2\ta dog, too\n"),
        ("a.jsonl", '{"text": "the cat sat", "x": [1]}\n{"text": "a dog, too", "x": "y"}\n'),
    ],
)
def test_files_of_lines(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    found = read_lines(str(tmp_path / name))
    assert {split: rows["text"][:] for split, rows in found.splits.items()} == {"train": LINES}
    datasets.Dataset.from_dict({"body": LINES}).to_parquet(tmp_path / "b.parquet")
    other = read_lines(str(tmp_path / "b.parquet"), text_column="body")
    assert other.fingerprint == found.fingerprint  # of the lines alone


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_several_columns_are_read_one_after_another(tmp_path: Path, name: str) -> None:
    rows = pd.DataFrame({"subject": ["one", "", "three"], "body": ["two words", "alone", None], "n": [1, 2, 3]})
    path = tmp_path / name
    if name == "a.csv":
        rows.to_csv(path, index=False)
    elif name == "a.jsonl":
        rows.to_json(path, orient="records", lines=True)
    else:
        rows.to_parquet(path)
    found = read_lines(str(path), text_column=["body", "subject"]).splits["train"]
    assert found["text"][:] == ["two words\none", "alone", "three"]
    with pytest.raises(TextFormatError, match="no column 'title' for the text"):
        read_lines(str(path), text_column=["subject", "title"])


def test_a_folder_with_splits(tmp_path: Path) -> None:
    for split in ("train", "validation", "test"):
        (tmp_path / f"{split}.txt").write_text(f"{split} line\n\nand another\n")
    found = read_lines(str(tmp_path)).splits
    assert {name: rows["text"][:] for name, rows in found.items()} == {
        name: [f"{name} line", "and another"] for name in ("train", "validation", "test")
    }


@pytest.mark.parametrize("name", ["text8", "a.txt", "a.jsonl"])
def test_the_one_line_of_a_running_text_is_cut_into_pieces(tmp_path: Path, name: str) -> None:
    words = [f"w{number}" for number in range(2500)]
    line = " ".join(words)
    (tmp_path / name).write_text(f'{{"text": "{line}"}}' if name.endswith("jsonl") else f"\n{line}\n")
    with collect_reading_notes() as notes:
        found = read_lines(str(tmp_path / name))
    pieces = found.splits["train"]["text"][:]
    assert [len(piece.split()) for piece in pieces] == [1000, 1000, 500]
    assert " ".join(pieces) == line
    assert found.cut == {"train"}
    what = "pieces of up to 1,000 words, into which the one line was cut, read as lines"
    assert notes.counts() == {what: 3, **({"blank lines, left out": 1} if not name.endswith("jsonl") else {})}


def test_one_line_of_megabytes_takes_a_small_multiple_of_its_size(tmp_path: Path) -> None:
    (tmp_path / "text8").write_text(" ".join(f"word{number * 7919 % 5000}" for number in range(400_000)))
    size = (tmp_path / "text8").stat().st_size
    assert size > 3_000_000
    tracemalloc.start()
    try:
        found = read_lines(str(tmp_path / "text8"))
        assert tracemalloc.get_traced_memory()[1] < 6 * size
    finally:
        tracemalloc.stop()
    assert len(found.splits["train"]) == 400


@pytest.mark.parametrize("texts", [["word " * 1000], ["word " * 1001, "word"]])
def test_lines_that_are_not_alone_or_not_long_stay_whole(texts: list[str]) -> None:
    found = check_lines({"train": datasets.Dataset.from_dict({"text": texts})})
    assert (found.splits["train"]["text"][:], found.cut) == (texts, frozenset())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.pdf", "x", r"a\.pdf is no \.txt, \.csv, \.tsv, \.jsonl, \.parquet file; name one, a folder, or a Hub id"),
        ("a.txt", "\n \n", r"a\.txt: no line of text; expected at least one"),
        ("a.txt", "one\ntwo ␤ three\n", r"row 1: 'two ␤ three' holds ␤, the mark that stands behind each line"),
        ("a.csv", "words\nx\n", r"no column of the usual names text, .* rename one of \['words'\]"),
        ("a.csv", "text,text\nx,y\n", "several columns are called 'text'"),
        ("a.csv", "text\nx\ny,z\n", "put a text that holds the separator in quotes"),
        ("a.jsonl", '{"text": "x"}\n{"text": 3}\n', "row 1: 3 in 'text'; expected text"),
        ("a.jsonl", '{"text": "x"\n', r"a\.jsonl, line 1 is not JSON"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises((DatasetFileError, TextFormatError), match=message):
        read_lines(str(tmp_path / name))


def test_rows_that_are_no_text_are_named() -> None:
    with pytest.raises(TextFormatError, match=r"split 'test', row 1: no text in column 'text'; leave the row out"):
        check_lines({"test": datasets.Dataset.from_dict({"text": ["a", None]})})
    with pytest.raises(TextFormatError, match=r"column 'text' has the type int64; expected text"):
        check_lines({"test": datasets.Dataset.from_dict({"text": [1, 2]})})
