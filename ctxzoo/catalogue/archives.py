"""What archives of a source hold, read into memory, up to a bound; nothing of an archive is written to the disk."""

from __future__ import annotations

import gzip
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from ctxzoo.catalogue.entry import RawFileError
from ctxzoo.data.unpacking import BoundedStream

LARGEST_UNPACKED = 2**30  # bytes of all that an archive holds; those of the catalogue hold up to some hundred million


@contextmanager
def open_zip_texts(path: Path) -> Iterator[Callable[[str], str]]:
    """Open a zip file within a `with` block, and yield a function from the name of a member to its text.

    Raises:
        RawFileError: the file is no zip file, damaged, or holds more than `LARGEST_UNPACKED`; also where the function
            is called: no such member, or one that is not UTF-8.
    """
    with _open_zip(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > LARGEST_UNPACKED:
            raise _make_too_large_error(path)
        yield lambda name: _read_zip_member(archive, name).decode("utf-8")


@contextmanager
def open_zip_member(path: Path, name: str) -> Iterator[IO[bytes]]:
    """Open one member of a zip file within a `with` block, to read its lines one by one.

    Raises:
        RawFileError: the file is no zip file, or damaged; no such member; it holds more than `LARGEST_UNPACKED`.
    """
    with _open_zip(path) as archive:
        if archive.getinfo(name).file_size > LARGEST_UNPACKED:
            raise _make_too_large_error(path)
        with archive.open(name) as member:  # which ends where its header says
            yield member


@contextmanager
def _open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file within a `with` block, and turn errors of reading it into `RawFileError`."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, KeyError, UnicodeDecodeError, zlib.error, EOFError) as error:
        raise RawFileError(f"{path.name} cannot be read: {error}; expected the archive of the source") from error


def _read_zip_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a member, and raise an error if it unpacks to more than its header says."""
    with archive.open(name) as member:
        return member.read(archive.getinfo(name).file_size)


def read_tar_texts(path: Path, name_pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the texts of the files in a .tar.gz file whose whole name a pattern matches, with the match.

    Raises:
        RawFileError: the archive is damaged, holds more than `LARGEST_UNPACKED`, or a text that is not UTF-8.
    """
    try:
        with (
            gzip.open(path) as stream,
            BoundedStream(stream, LARGEST_UNPACKED, _make_too_large_error(path)) as bounded,
            tarfile.open(fileobj=cast(Any, bounded), mode="r|") as archive,
        ):
            for member in archive:
                match = name_pattern.fullmatch(member.name)
                content = archive.extractfile(member) if match else None  # of a link an error
                if match and content is not None:
                    yield match, content.read().decode("utf-8")
    except (tarfile.TarError, EOFError, OSError, UnicodeDecodeError, zlib.error) as error:
        raise RawFileError(f"{path.name} cannot be unpacked: {error}") from error


def _make_too_large_error(path: Path) -> RawFileError:
    """Return the error for an archive that unpacks to more than allowed."""
    return RawFileError(
        f"{path.name} unpacks to more than {LARGEST_UNPACKED:,} bytes; expected the archive of the source, which holds "
        "less: fetch it again, or look at what its address gives now"
    )
