"""How much packed files may unpack to, so that one made to fill the memory or the disk is refused early."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Bytes that any file may unpack to, and times its size that a larger one may: texts and tables reach 2 to 20 times.
ALWAYS_ALLOWED = 2**28
TIMES_ALLOWED = 50
BLOCK = 2**20
ZIP = b"PK\x03\x04"
# The first bytes of a packed file, and what unpacks it.
STREAMS: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": lambda path: _open_by_pyarrow(path, "zstd"),
    b"\x04\x22\x4d\x18": lambda path: _open_by_pyarrow(path, "lz4"),
}


def _open_by_pyarrow(path: Path, compression: str) -> Any:
    """Return the unpacked bytes of a file as a stream; pyarrow takes time to import, and every command reads this."""
    import pyarrow as pa

    return pa.input_stream(str(path), compression=compression)


class PackedFileError(ValueError):
    """A packed file unpacks to more than it may."""


class BoundedStream(io.RawIOBase):
    """The bytes of a stream, which is refused where it gives more than a bound.

    Args:
        stream: Binary stream to read from; it is closed together with this one.
        largest: Largest number of bytes that may be read.
        error: Error that is raised when the stream has more bytes.
    """

    def __init__(self, stream: Any, largest: int, error: Exception) -> None:
        super().__init__()
        self._stream = stream
        self._left = largest
        self._error = error

    def readable(self) -> bool:
        """Say that the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer and return the number of bytes; raise the error once the limit is passed."""
        block = self._stream.read(len(buffer))
        self._left -= len(block)
        if self._left < 0:
            raise self._error
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        """Close the packed stream too."""
        if not self.closed:
            self._stream.close()
        super().close()


def limit_unpacked_size(stream: Any, file: Path) -> io.BufferedReader:
    """Return a stream of unpacked bytes that raises an error beyond a limit that follows from the file's size.

    Args:
        stream: Binary stream with the unpacked bytes.
        file: Path of the packed file, whose size sets the bound.

    Raises:
        PackedFileError: while it is read: it holds more.
    """
    return io.BufferedReader(BoundedStream(stream, compute_unpacked_limit(file), _make_too_large_error(file)), BLOCK)


def compute_unpacked_limit(file: Path) -> int:
    """Return how many bytes a packed file of this size may unpack to."""
    return max(ALWAYS_ALLOWED, TIMES_ALLOWED * file.stat().st_size)


def refuse_large_members(file: Path, members: list[zipfile.ZipInfo]) -> None:
    """Raise an error for a zip archive whose members are larger, by its headers, than it may unpack to.

    Raises:
        PackedFileError: they are more than the bound of its size.
    """
    if sum(member.file_size for member in members) > compute_unpacked_limit(file):
        raise _make_too_large_error(file)


def refuse_large_files(folder: Path) -> None:
    """Refuse a folder with a file that unpacks to more than it may, before another library unpacks it onto the disk.

    Files are known by their first bytes; a .gz, .bz2, .xz, .zst or .lz4 file is unpacked once, and what it gives
    dropped.

    Raises:
        PackedFileError: there is such a file.
    """
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        with file.open("rb") as raw:
            begin = raw.read(6)
        unpack = next((unpack for mark, unpack in STREAMS.items() if begin.startswith(mark)), None)
        try:
            if begin.startswith(ZIP):
                with zipfile.ZipFile(file) as archive:
                    refuse_large_members(file, archive.infolist())
            elif unpack is not None:
                with limit_unpacked_size(unpack(file), file) as stream:
                    while stream.read(BLOCK):
                        pass
        except (OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile):
            continue  # damaged: whoever reads it says so


def _make_too_large_error(file: Path) -> PackedFileError:
    """Return the error for a packed file that unpacks to more than allowed."""
    return PackedFileError(
        f"{file} unpacks to more than {compute_unpacked_limit(file):,} bytes; expected at most {TIMES_ALLOWED} times "
        "its size; if all of that is data, unpack it and name the unpacked file"
    )
