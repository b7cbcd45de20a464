"""Packed files of a user's that unpack to far more than they could hold are refused, wherever they are read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ctxzoo.data import unpacking
from ctxzoo.data.row_files import read_csv_or_tsv, read_json_lines, read_parquet
from ctxzoo.data.row_stream import open_row_stream
from ctxzoo.data.sources import load_splits
from ctxzoo.data.text_files import read_utf8
from ctxzoo.data.unpacking import BoundedStream, PackedFileError
from ctxzoo.tasks.language_modelling.reader import read_lines
from ctxzoo.tasks.question_answering.squad_json import read_squad_json
from ctxzoo.tasks.word_embeddings.corpus_lines import CorpusSource
from ctxzoo.word_vectors.source import open_vector_file, read_first_bytes

BOUND = 2**20
TOO_LARGE = r"{} unpacks to more than 1,048,576 bytes; expected at most 50 times its size; .* unpack it and name"


@pytest.fixture(autouse=True)
def small_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "ALWAYS_ALLOWED", BOUND)


def packed(name: str, content: bytes) -> bytes:
    """Content as the suffix of a file says."""
    if name.endswith(".zip"):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("member.txt", content)
        return buffer.getvalue()
    pack: dict[str, Callable[[bytes], Any]] = {
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
        ".zst": lambda content: pa.compress(content, "zstd", asbytes=True),
    }
    return bytes(pack[Path(name).suffix](content))


def stream_rows(path: Path) -> None:
    with open_row_stream(path) as rows:
        for _ in rows.chunks:
            pass


def read_vectors(path: Path) -> None:
    with open_vector_file(path, progress=False) as file:
        while file.stream.read(BOUND):
            pass


DOORS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a.txt.gz": (lambda path: read_lines(str(path)), "a line\n"),
    "a.txt.bz2": (lambda path: list(CorpusSource(str(path)).lines()), "a line\n"),
    "b.txt.zst": (lambda path: list(CorpusSource(str(path)).lines()), "a line of text "),
    "a.csv.gz": (read_csv_or_tsv, "a,b\n"),
    "a.csv.zst": (read_csv_or_tsv, "a,b\n"),
    "a.jsonl.bz2": (read_json_lines, '{"a": 1}\n'),
    "a.parquet.gz": (read_parquet, "PAR1"),
    "a.json.gz": (read_squad_json, '{"data": []}' + " " * 100),
    "b.csv.gz": (stream_rows, "a,b\n"),
    "b.jsonl.gz": (stream_rows, '{"a": 1}\n'),
    "b.parquet.gz": (stream_rows, "PAR1"),
    "b.txt.gz": (stream_rows, "one endless line "),
    "vectors.gz": (read_vectors, "word 0.5 0.5\n"),
    "vectors.zip": (read_vectors, "word 0.5 0.5\n"),
    "data/train.json.gz": (lambda path: load_splits(str(path.parent)), '{"a": 1}\n'),
    "data/train.json.xz": (lambda path: load_splits(str(path.parent)), '{"a": 1}\n'),
    "data/train.zip": (lambda path: load_splits(str(path.parent)), "a line\n"),
}


@pytest.mark.parametrize("name", DOORS)
def test_a_bomb_is_refused(tmp_path: Path, name: str) -> None:
    read, part = DOORS[name]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(packed(name, part.encode() * (5 * BOUND // len(part))))
    assert path.stat().st_size < BOUND // 50
    with pytest.raises(PackedFileError, match=TOO_LARGE.format(path.name)):
        read(path)


def test_a_large_file_may_unpack_to_more(tmp_path: Path) -> None:
    """To as many times its size as texts reach."""
    path = tmp_path / "a.txt.gz"
    text = "".join(f"line {number * 7919 % 1_000_003}\n" for number in range(200_000))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    assert len(text) > 2 * BOUND
    assert read_utf8(path) == text


def test_what_follows_the_bound_is_not_unpacked() -> None:
    source = io.BytesIO(bytes(100 * BOUND))
    stream = io.BufferedReader(BoundedStream(source, BOUND, PackedFileError("too large")), 2**16)
    with pytest.raises(PackedFileError):
        stream.read()
    assert source.tell() <= BOUND + 2**16


def test_a_damaged_packed_file_in_a_folder_is_left_to_its_reader(tmp_path: Path) -> None:
    (tmp_path / "train.json.gz").write_bytes(gzip.compress(b'{"a": 1}\n')[:-9])
    (tmp_path / "notes.zip").write_bytes(b"PK\x03\x04 and no archive")
    unpacking.refuse_large_files(tmp_path)


def test_packed_vectors_are_read_as_they_are(tmp_path: Path) -> None:
    for name in ("vectors.gz", "vectors.zip"):
        (tmp_path / name).write_bytes(packed(name, b"word 0.5 0.5\n"))
        assert read_first_bytes(tmp_path / name)[1] == b"word 0.5 0.5\n"
