from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import datasets
import pytest

from ctxzoo.catalogue.entries import ENTRIES
from ctxzoo.cli.main import main
from tests.support.catalogue_samples import RAW, small_entry
from tests.support.file_server import FileServer


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """A catalogue with one more dataset, whose raw files the server holds; folders of the test's own."""
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.delenv("CTXZOO_DATA", raising=False)
    with FileServer({}) as running:
        monkeypatch.setitem(ENTRIES, "ctxzoo-data/films", small_entry(running))
        yield running


@pytest.mark.parametrize("arguments", [["data"], ["data", "list"]])
def test_list_names_every_dataset(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert all(entry.name in text and entry.description in text and entry.differs in text for entry in ENTRIES.values())
    assert "9,803 are on Reddit comments" in text
    assert "sentence_linear" in text


@pytest.mark.usefixtures("server")
def test_get_says_where_it_is_and_how_it_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "get", "films"]) == 0
    text = capsys.readouterr().out
    folder = tmp_path / "share" / "ctxzoo" / "datasets" / "ctxzoo-data" / "films"
    assert text.startswith(f"{folder}\n  train: 3 rows: the rows that results were computed on (")
    assert "use it by its name, ctxzoo-data/films; recipes/README.md" in text
    assert main(["data", "get", "films"]) == 0
    assert f"{folder} was there" in capsys.readouterr().out
    assert main(["data", "get", "films", "--data_dir", str(tmp_path / "mine")]) == 0
    assert f"with --data_dir {tmp_path / 'mine'};" in capsys.readouterr().out


def test_get_without_network_says_what_to_fetch(
    server: FileServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.files.pop("films.pos")
    assert main(["data", "get", "films"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"ctxzoo: error: {server.url}/films.pos cannot be fetched (HTTP 404)")
    assert lines[2] == f"  {server.url}/films.pos"
    assert lines[-1] == "and hand them over: ctxzoo data get ctxzoo-data/films --from FOLDER"
    for name, content in RAW.items():
        (tmp_path / name).write_bytes(content)
    assert main(["data", "get", "films", "--from", str(tmp_path)]) == 0


def test_a_wrong_dataset_is_refused_in_one_line(server: FileServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.files["films.pos"] = b"another\n"
    assert main(["data", "get", "films"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "ctxzoo: error: ctxzoo-data/films: train (3 rows) has the fingerprint" in line
    assert main(["data", "get", "film"]) == 2
    assert "did you mean ctxzoo-data/films? `ctxzoo data list` names all" in capsys.readouterr().err


@pytest.mark.usefixtures("server")
def test_check_names_the_splits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "get", "films", "--data_dir", str(tmp_path)]) == 0
    capsys.readouterr()
    folder = tmp_path / "ctxzoo-data" / "films"
    assert main(["data", "check", str(folder)]) == 0
    assert main(["data", "check", "films", "--data_dir", str(tmp_path)]) == 0
    first, second = capsys.readouterr().out.split(f"{folder}: ctxzoo-data/films\n")[1:]
    assert first == second
    assert "train: 3 rows: the rows that results were computed on" in first
    datasets.Dataset.from_dict({"text": ["mine"], "label": [0]}).to_parquet(folder / "train.parquet")
    assert main(["data", "check", str(folder)]) == 1
    text = capsys.readouterr().out
    assert "train: 1 row: other rows than results were computed on" in text
    assert "built anew by: ctxzoo data get ctxzoo-data/films --replace" in text
    assert main(["data", "check", str(folder.rename(tmp_path / "other"))]) == 1
    assert "holds none of the datasets" in capsys.readouterr().out
    assert main(["data", "check", "films"]) == 2
    assert "films; get it: ctxzoo data get ctxzoo-data/films" in capsys.readouterr().err
