"""What trains and scores reads a pipe as it reads the file that went into it."""

from __future__ import annotations

import argparse
import gzip
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ctxzoo.cli.main import main
from ctxzoo.data.answer_files import Answer, write_answers
from ctxzoo.data.pipes import replace_pipes_by_files
from tests.support.own_data import write_reviews


@contextmanager
def piped(pipe: Path, content: bytes) -> Iterator[str]:
    """Give a named pipe into which the content goes, once."""
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(content), daemon=True)
    writer.start()
    yield str(pipe)
    writer.join(timeout=20)


@pytest.mark.parametrize(
    ("content", "told", "name"),
    [
        (b"text,label\na,b\n", "csv", "pipe.csv"),
        (gzip.compress(b"text\tlabel\n", mtime=0), "tsv", "pipe.tsv.gz"),
        (b"PAR1...", None, "pipe.parquet"),
        (b"MThd...", None, "pipe.mid"),
        (b'{"text": "a"}\n{"text": "b"}\n', None, "pipe.jsonl"),
        (b'{\n "data": []\n}', None, "pipe.json"),
        (b'{"data": []}', None, "pipe.json"),
    ],
)
def test_a_pipe_becomes_a_file_of_its_kind(tmp_path: Path, content: bytes, told: str | None, name: str) -> None:
    with piped(tmp_path / "63", content) as pipe:
        options = argparse.Namespace(data=pipe, test=None, format=told)
        with replace_pipes_by_files(options):
            file = Path(options.data)
            assert (file.name, file.read_bytes()) == (name, content)
        assert not file.exists()


def test_answers_go_into_a_pipe_or_an_open_file(tmp_path: Path) -> None:
    """As in `--output >(gzip > answers.csv.gz)` and `--output /dev/stdout`."""
    rows = [{"text": "a"}, {"text": "b"}]

    def answers(rows: list[dict[str, str]]) -> list[Answer]:
        return [Answer({"label": "x"}, [{"label": "x"}], "x") for _ in rows]

    pipe = tmp_path / "63"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert write_answers([rows], answers, pipe, kind="csv") == 2
    reader.join(timeout=20)
    with (tmp_path / "log").open("wb") as file:
        write_answers([rows], answers, Path(f"/proc/self/fd/{file.fileno()}"), kind="csv")
    assert read == [(tmp_path / "log").read_text()] == ["text,label\na,x\nb,x\n"]
    with pytest.raises(ValueError, match=r"expected a name that ends in \.csv"):
        write_answers([rows], answers, tmp_path / "answers")


def test_what_is_no_pipe_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\n")
    options = argparse.Namespace(data=str(tmp_path / "a.csv"), dataset="sample", test=None, vectors=str(tmp_path))
    before = dict(vars(options))
    with replace_pipes_by_files(options):
        assert vars(options) == before


def test_training_and_scoring_read_a_pipe_as_the_file_or_ask_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_reviews(tmp_path / "reviews.csv", 40)
    content = (tmp_path / "reviews.csv").read_bytes()
    command = ["train", "text-classification", "--tiny", "--data"]
    with piped(tmp_path / "62", content) as pipe:
        assert main([*command, pipe]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "62 is a pipe, whose name does not say what it holds; name its kind, one of csv, tsv" in line
    assert line.endswith("(or set --format)")
    with piped(tmp_path / "63", content) as pipe:
        assert main([*command, pipe, "--format", "csv"]) == 0
    assert "pipe.csv: 40 " in capsys.readouterr().out

    (checkpoint,) = Path("runs").rglob("checkpoint")
    score = ["evaluate", str(checkpoint), "--split", "train", "--dataset"]
    assert main([*score, "reviews.csv"]) == 0
    scores = capsys.readouterr().out.partition("metric")[2]
    with piped(tmp_path / "64", content) as pipe:
        assert main([*score, pipe, "--format", "csv"]) == 0
    assert capsys.readouterr().out.partition("metric")[2] == scores


def test_several_processes_cannot_share_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with piped(tmp_path / "63", b"text,label\na,b\n") as pipe:
        words = ["train", "text-classification", "--data", pipe, "--format", "csv", "--output_dir", str(tmp_path)]
        assert main([*words, "--accelerator", "cpu", "--devices", "2"]) == 2
    assert "data from a pipe, which one of the 2 processes would empty" in capsys.readouterr().err
