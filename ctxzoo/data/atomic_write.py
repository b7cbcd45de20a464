"""Atomic writes: a file gets its name when all of it is on disk, or keeps its earlier content."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path` to write to, and rename it when the block ends without an error.

    The folder is made where it is missing. After an error nothing of the temporary file is left.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open the temporary file of `atomic_path` for writing bytes; errors are those of `atomic_path`."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        yield file


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file by `atomic_file`, the folder too where it is missing; errors are those of `atomic_path`."""
    with atomic_file(path) as file:
        file.write(content)
