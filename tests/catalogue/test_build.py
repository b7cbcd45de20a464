from __future__ import annotations

import errno
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import replace
from gzip import BadGzipFile
from pathlib import Path

import datasets
import pytest

from ctxzoo.catalogue import build
from ctxzoo.catalogue.build import build_or_check_dataset
from ctxzoo.catalogue.check import are_all_splits_unchanged, check_splits, find_entry_of_folder
from ctxzoo.catalogue.download import RawFilesMissingError, WrongContentError, get_cache_path
from ctxzoo.catalogue.entries import ENTRIES
from ctxzoo.catalogue.entry import Entry, Files, RawFileError, Splits
from ctxzoo.data.sources import DatasetUnavailableError, load_splits
from tests.support.catalogue_samples import RAW, ROWS, configured_entry, small_entry
from tests.support.file_server import FileServer


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer({}) as running:
        yield running


@pytest.fixture
def entry(server: FileServer) -> Entry:
    return small_entry(server)


def everything_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_dataset_is_built_and_found_by_its_name(entry: Entry, data_dir: Path) -> None:
    outcome = build_or_check_dataset(entry, str(data_dir))
    assert (outcome.folder, outcome.kept) == (data_dir / "ctxzoo-data" / "films", False)
    assert are_all_splits_unchanged(outcome.findings)
    splits = load_splits("ctxzoo-data/films", str(data_dir))
    assert splits["train"].to_dict() == ROWS
    assert splits["train"].features["label"].names == ["neg", "pos"]
    text = (outcome.folder / "README.md").read_text(encoding="utf-8")
    assert "Built by `ctxzoo data get ctxzoo-data/films`" in text
    assert [path.name for path in (data_dir / "ctxzoo-data").iterdir()] == ["films"], "nothing else is left"


def test_what_is_there_and_right_is_kept(entry: Entry, server: FileServer, data_dir: Path) -> None:
    before = everything_below(build_or_check_dataset(entry, str(data_dir)).folder)
    asked = len(server.requests)
    outcome = build_or_check_dataset(entry, str(data_dir))
    assert outcome.kept
    assert everything_below(outcome.folder) == before
    assert len(server.requests) == asked


def test_configurations_have_folders_of_their_own(server: FileServer, data_dir: Path) -> None:
    entry = configured_entry(server)
    outcome = build_or_check_dataset(entry, str(data_dir))
    assert [finding.split for finding in outcome.findings] == ["old/test", "new/test"]
    assert are_all_splits_unchanged(outcome.findings)
    assert len(load_splits(entry.name, str(data_dir), config="new")["test"]) == 3


def test_other_rows_are_refused_and_fetched_anew(entry: Entry, server: FileServer, data_dir: Path) -> None:
    server.files["films.neg"] = b"dull\n\ntoo lonh\n"
    with pytest.raises(WrongContentError, match=r"train \(3 rows\) has the fingerprint .*; nothing was put in place"):
        build_or_check_dataset(entry, str(data_dir))
    assert everything_below(data_dir) == {}
    server.files.update(RAW)
    assert are_all_splits_unchanged(build_or_check_dataset(entry, str(data_dir)).findings)


def test_a_file_that_is_not_of_the_source_is_fetched_anew(entry: Entry, server: FileServer, data_dir: Path) -> None:
    server.files["films.pos"] = b"tr\xe8s bien\n"
    with pytest.raises(RawFileError, match=r"films\.pos: byte 2 is not utf-8"):
        build_or_check_dataset(entry, str(data_dir))
    assert not any(get_cache_path(file).exists() for file in entry.files)
    assert everything_below(data_dir) == {}


@pytest.mark.parametrize("error", [zlib.error("invalid block type"), EOFError(), IndexError("3"), BadGzipFile("crc")])
def test_a_damaged_file_is_fetched_anew_whatever_breaks(
    entry: Entry, server: FileServer, data_dir: Path, error: Exception
) -> None:
    def convert(files: Files) -> Splits:
        raise error

    with pytest.raises(RawFileError, match=rf"films cannot be read \({type(error).__name__}: .*removed: try again"):
        build_or_check_dataset(replace(entry, convert=convert), str(data_dir))
    assert not any(get_cache_path(file).exists() for file in entry.files)
    assert are_all_splits_unchanged(build_or_check_dataset(entry, str(data_dir)).findings)


def test_what_the_machine_lacks_is_no_damage(entry: Entry, data_dir: Path) -> None:
    def convert(files: Files) -> Splits:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        build_or_check_dataset(replace(entry, convert=convert), str(data_dir))
    assert all(get_cache_path(file).exists() for file in entry.files)


def test_files_without_a_known_content_are_compared_with_the_first_that_were_right(
    entry: Entry, server: FileServer, data_dir: Path
) -> None:
    server.files["films.neg"] = b"dull\n\ntoo lonh\n"
    with pytest.raises(WrongContentError, match="nothing was put in place"):
        build_or_check_dataset(entry, str(data_dir))  # a first download that is wrong is not remembered
    server.files.update(RAW)
    folder = build_or_check_dataset(entry, str(data_dir)).folder
    assert all(file.sha256 is None for file in entry.files)
    for in_cache in (True, False):
        shutil.rmtree(folder)
        file = next(file for file in entry.files if file.name == "films.neg")
        if in_cache:
            get_cache_path(file).write_bytes(RAW["films.neg"] + b"x")  # a bad disk
        else:
            get_cache_path(file).unlink()
            server.files["films.neg"] = RAW["films.neg"] + b"x"  # another file at the source
        with pytest.raises(WrongContentError, match=r"try again; that of the first download is kept in "):
            build_or_check_dataset(entry, str(data_dir))
        server.files.update(RAW)
        assert are_all_splits_unchanged(build_or_check_dataset(entry, str(data_dir)).findings)


def test_a_folder_with_other_rows_is_replaced_on_request_only(entry: Entry, server: FileServer, data_dir: Path) -> None:
    folder = build_or_check_dataset(entry, str(data_dir)).folder
    datasets.Dataset.from_dict({"text": ["mine"], "label": [0]}).to_parquet(folder / "train.parquet")
    before = everything_below(folder)
    with pytest.raises(FileExistsError, match=r"is there, but train .* --replace builds it anew"):
        build_or_check_dataset(entry, str(data_dir))
    assert everything_below(folder) == before
    server.files["films.neg"] = b"wrong\n"
    for file in entry.files:
        get_cache_path(file).unlink()
    with pytest.raises(WrongContentError):
        build_or_check_dataset(entry, str(data_dir), replace=True)
    assert everything_below(folder) == before, "a failed build leaves what was there"
    server.files.update(RAW)
    assert are_all_splits_unchanged(build_or_check_dataset(entry, str(data_dir), replace=True).findings)
    assert [path.name for path in folder.parent.iterdir()] == ["films"]


def test_an_entry_that_may_differ_says_so_and_is_kept(server: FileServer, data_dir: Path) -> None:
    entry = small_entry(server, differs="The division is our own.")
    server.files["films.neg"] = b"another\n"
    outcome = build_or_check_dataset(entry, str(data_dir))
    assert [finding.state for finding in outcome.findings] == ["differs"]
    assert build_or_check_dataset(entry, str(data_dir)).kept


def test_raw_files_by_hand(entry: Entry, server: FileServer, data_dir: Path, tmp_path: Path) -> None:
    by_hand = tmp_path / "by hand"
    by_hand.mkdir()
    (by_hand / "films.neg").write_bytes(RAW["films.neg"])
    with pytest.raises(RawFilesMissingError, match=r"lacks 1 of 2 files: films\.pos"):
        build_or_check_dataset(entry, str(data_dir), raw=by_hand)
    (by_hand / "films.pos").write_bytes(RAW["films.pos"])
    assert are_all_splits_unchanged(build_or_check_dataset(entry, str(data_dir), raw=by_hand).findings)
    assert server.requests == []


def test_a_download_that_breaks_leaves_no_folder(entry: Entry, server: FileServer, data_dir: Path) -> None:
    server.break_after = 4
    with pytest.raises(RawFilesMissingError):
        build_or_check_dataset(entry, str(data_dir))
    assert everything_below(data_dir) == {}


def hub_entry() -> Entry:
    return replace(ENTRIES["rajpurkar/squad"], name="someone/questions", fingerprints={})


def test_the_hubs_files_are_copied(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = tmp_path / "snapshot"
    (snapshot / "plain_text").mkdir(parents=True)
    datasets.Dataset.from_dict({"id": ["a"]}).to_parquet(snapshot / "plain_text" / "train-00000-of-00001.parquet")
    asked = []

    def snapshot_download(*arguments: object, **options: object) -> str:
        asked.append((arguments, options))
        return str(snapshot)

    monkeypatch.setattr(build, "snapshot_download", snapshot_download)
    outcome = build_or_check_dataset(hub_entry(), str(data_dir))
    assert asked == [(("someone/questions",), {"repo_type": "dataset", "allow_patterns": ["README.md", "*.parquet"]})]
    assert [(finding.split, finding.state, finding.rows) for finding in outcome.findings] == [
        ("train", "not compared", 1)
    ]
    by_hand = build_or_check_dataset(replace(hub_entry(), name="someone/others"), str(data_dir), raw=snapshot)
    assert len(load_splits("someone/others", str(data_dir))["train"]) == 1
    assert not by_hand.kept
    with pytest.raises(RawFilesMissingError, match=r"holds no Parquet file of someone/third"):
        build_or_check_dataset(replace(hub_entry(), name="someone/third"), str(data_dir), raw=data_dir / "nothing")


def test_a_silent_hub_is_said(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def snapshot_download(*_: object, **__: object) -> str:
        raise ConnectionError("no route")

    monkeypatch.setattr(build, "snapshot_download", snapshot_download)
    with pytest.raises(RawFilesMissingError, match=r"did not deliver someone/questions \(no route\)") as caught:
        build_or_check_dataset(hub_entry(), str(data_dir))
    assert caught.value.files[0].url == "https://huggingface.co/datasets/someone/questions/tree/main"


def test_findings_of_a_folder(entry: Entry, data_dir: Path) -> None:
    folder = build_or_check_dataset(entry, str(data_dir)).folder
    asked = replace(entry, fingerprints={"test": "0" * 64, "train": "0" * 64})
    assert [(f.split, f.state, f.rows) for f in check_splits(asked, folder)] == [
        ("test", "missing", None),
        ("train", "differs", 3),
    ]
    assert not are_all_splits_unchanged(check_splits(asked, folder))
    assert [f.state for f in check_splits(replace(entry, fingerprints={}), folder)] == ["not compared"]
    with pytest.raises(DatasetUnavailableError, match="there is no folder"):
        check_splits(entry, data_dir / "nowhere")


def test_only_the_columns_that_are_checked_count(entry: Entry, data_dir: Path) -> None:
    folder = build_or_check_dataset(entry, str(data_dir)).folder
    fewer = datasets.Dataset.from_dict({"text": ROWS["text"], "label": [1, 1, 1]})
    fewer.to_parquet(folder / "train.parquet")
    from ctxzoo.data.sources import dataset_fingerprint

    only_text = {"train": dataset_fingerprint(fewer.select_columns(["text"]))}
    assert are_all_splits_unchanged(check_splits(replace(entry, checked=("text",), fingerprints=only_text), folder))
    assert check_splits(replace(entry, checked=("title",)), folder)[0].state == "differs"


def test_a_folder_is_known_by_its_path_or_its_rows(
    entry: Entry, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENTRIES, entry.name, entry)
    folder = build_or_check_dataset(entry, str(data_dir)).folder
    assert find_entry_of_folder(folder) is entry
    moved = folder.rename(tmp_path / "elsewhere")
    assert find_entry_of_folder(moved) is entry
    datasets.Dataset.from_dict({"text": ["mine"]}).to_parquet(moved / "train.parquet")
    assert find_entry_of_folder(moved) is None
