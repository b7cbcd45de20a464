"""Archives that unpack to more than any source holds: refused before the memory is full."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from ctxzoo.catalogue import archives
from ctxzoo.catalogue.archives import open_zip_member, open_zip_texts, read_tar_texts
from ctxzoo.catalogue.entry import RawFileError

BOUND = 2**16
TOO_LARGE = r"bomb\.{} unpacks to more than 65,536 bytes; expected the archive of the source, .* fetch it again"


@pytest.fixture(autouse=True)
def small_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LARGEST_UNPACKED", BOUND)


def test_a_zip_file_of_many_members_that_are_too_much_together(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(str(number), bytes(BOUND // 2))
    with pytest.raises(RawFileError, match=TOO_LARGE.format("zip")), open_zip_texts(path):
        pass


def test_a_member_of_a_zip_file_that_is_larger_than_its_header_says(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(100 * BOUND))
    path.write_bytes(path.read_bytes().replace((100 * BOUND).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(RawFileError, match=r"bomb\.zip cannot be read: Bad CRC"), open_zip_texts(path) as text_of:
        text_of("a")


def test_of_one_member_read_by_lines_only_its_own_size_counts(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("large", bytes(BOUND + 1))
        archive.writestr("a", "one\ntwo\n")
    with open_zip_member(path, "a") as lines:
        assert list(lines) == [b"one\n", b"two\n"]
    with pytest.raises(RawFileError, match=TOO_LARGE.format("zip")), open_zip_member(path, "large"):
        pass
    path.write_bytes(path.read_bytes().replace((BOUND + 1).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(RawFileError, match="cannot be read: Bad CRC"), open_zip_member(path, "large") as lines:
        list(lines)


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE])
def test_a_tar_file_with_a_member_or_a_header_that_is_too_large(tmp_path: Path, kind: bytes) -> None:
    """That nobody asks for: a stream is unpacked on the way to the next."""
    path, member = tmp_path / "bomb.tar.gz", tarfile.TarInfo("other")
    member.size, member.type = 100 * BOUND, kind
    with gzip.open(path, "wb") as stream:
        stream.write(member.tobuf(tarfile.USTAR_FORMAT))
        stream.write(bytes(member.size))
    with pytest.raises(RawFileError, match=TOO_LARGE.format(r"tar\.gz")):
        list(read_tar_texts(path, re.compile("a")))


@pytest.mark.parametrize(("kind", "name"), [(tarfile.SYMTYPE, "a"), (tarfile.LNKTYPE, "a"), (tarfile.REGTYPE, "../a")])
def test_only_files_of_the_name_itself_are_read(tmp_path: Path, kind: bytes, name: str) -> None:
    path, buffer, secret = tmp_path / "bomb.tar.gz", io.BytesIO(), tmp_path / "secret"
    secret.write_text("secret")
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, str(secret)
        archive.addfile(member)
    path.write_bytes(buffer.getvalue())
    if kind == tarfile.REGTYPE:
        assert list(read_tar_texts(path, re.compile("a"))) == []
    else:
        with pytest.raises(RawFileError, match="cannot be unpacked"):
            list(read_tar_texts(path, re.compile("a")))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bomb.tar.gz", "secret"]
