from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ctxzoo.catalogue.download import (
    RawFilesMissingError,
    WrongContentError,
    download_files,
    find_raw_files,
    get_cache_path,
)
from ctxzoo.catalogue.entry import RawFile
from tests.support.file_server import FileServer

CONTENT = bytes(range(256)) * 20_000  # several blocks
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def test_an_interrupted_download_goes_on() -> None:
    with FileServer({"a.bin": CONTENT}) as server:
        file = RawFile(f"{server.url}/a.bin", sha256=SHA256)
        server.break_after = 3_000_000
        with pytest.raises(
            RawFilesMissingError, match=r"fetched \(the connection broke, [\d,]+ bytes of it are kept\)"
        ) as caught:
            download_files([file])
        assert caught.value.files == (file,)
        kept = get_cache_path(file).with_name("a.bin.part").stat().st_size
        assert 0 < kept <= 3_000_000
        server.break_after = None
        assert download_files([file])["a.bin"].read_bytes() == CONTENT
        assert server.requests == [("a.bin", ""), ("a.bin", f"bytes={kept}-")]
        download_files([file])
        assert len(server.requests) == 2, "what is there is not fetched again"


def test_little_that_came_before_a_connection_broke_is_kept() -> None:
    with FileServer({"a.bin": CONTENT}) as server:
        file = RawFile(f"{server.url}/a.bin")
        server.break_after = 100_000
        with pytest.raises(RawFilesMissingError, match="bytes of it are kept"):
            download_files([file])
        kept = get_cache_path(file).with_name("a.bin.part").stat().st_size
        assert 80_000 < kept <= 100_000
        server.break_after = None
        assert download_files([file])["a.bin"].read_bytes() == CONTENT


def test_a_file_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxzoo.catalogue.download.LARGEST", 1_000_000)
    with FileServer({"a.bin": CONTENT}) as server:
        file = RawFile(f"{server.url}/a.bin")
        with pytest.raises(WrongContentError, match=r"a\.bin has more than 1,000,000 bytes"):
            download_files([file])
    assert [path.suffix for path in get_cache_path(file).parent.iterdir() if path.suffix != ".lock"] == []


def test_a_link_in_the_place_of_a_part_is_not_written_through(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"")
    with FileServer({"a.bin": CONTENT}) as server:
        file = RawFile(f"{server.url}/a.bin")
        part = get_cache_path(file).with_name("a.bin.part")
        part.parent.mkdir(parents=True)
        part.symlink_to(precious)
        with pytest.raises(OSError, match="symbolic links"):
            download_files([file])
    assert precious.read_bytes() == b""


@pytest.mark.parametrize("ranges", [True, False])
def test_a_part_that_cannot_go_on_is_fetched_anew(ranges: bool) -> None:
    with FileServer({"a.bin": b"content"}, ranges=ranges) as server:
        file = RawFile(f"{server.url}/a.bin")
        part = get_cache_path(file).with_name("a.bin.part")
        part.parent.mkdir(parents=True)
        part.write_bytes(b"x" * 50)  # longer than the file: the server has no such range
        assert download_files([file])["a.bin"].read_bytes() == b"content"


def test_a_wrong_byte_is_refused_and_fetched_again() -> None:
    wrong = bytearray(CONTENT)
    wrong[1000] ^= 1
    with FileServer({"a.bin": bytes(wrong)}) as server:
        file = RawFile(f"{server.url}/a.bin", sha256=SHA256)
        with pytest.raises(WrongContentError, match=f"expected {SHA256}; it was removed: try again"):
            download_files([file])
        server.files["a.bin"] = CONTENT
        assert download_files([file])["a.bin"].read_bytes() == CONTENT


def test_what_is_missing_is_listed() -> None:
    with FileServer({"a.bin": b"a"}) as server:
        files = [RawFile(f"{server.url}/{name}.bin") for name in "abc"]
        with pytest.raises(RawFilesMissingError, match=r"b\.bin cannot be fetched \(HTTP 404\)") as caught:
            download_files(files)
    assert caught.value.files == (files[1], files[2])
    with pytest.raises(RawFilesMissingError, match=r"127\.0\.0\.1:9/a\.bin cannot be fetched \(no connection\)"):
        download_files([RawFile("http://127.0.0.1:9/a.bin")])


def test_files_of_one_name_do_not_meet() -> None:
    with FileServer({"x/a": b"x", "y/a": b"y"}) as server:
        files = [RawFile(f"{server.url}/{folder}/a", folder) for folder in "xy"]
        assert {name: path.read_bytes() for name, path in download_files(files).items()} == {"x": b"x", "y": b"y"}
        plain = [RawFile(f"{server.url}/{folder}/a") for folder in "xy"]
        assert [download_files([file])["a"].read_bytes() for file in plain] == [b"x", b"y"]


def test_files_that_were_fetched_by_hand(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(CONTENT)
    file, other = RawFile("https://x.org/a.bin", sha256=SHA256), RawFile("https://x.org/z", "b.bin")
    assert find_raw_files([file], tmp_path) == {"a.bin": tmp_path / "a.bin"}
    with pytest.raises(RawFilesMissingError, match=r"lacks 1 of 2 files: b\.bin") as caught:
        find_raw_files([file, other], tmp_path)
    assert caught.value.files == (other,)
    (tmp_path / "a.bin").write_bytes(b"other")
    with pytest.raises(WrongContentError, match=r"fetch it again from https://x\.org/a\.bin"):
        find_raw_files([file], tmp_path)
    assert (tmp_path / "a.bin").exists(), "a person's file is not removed"
