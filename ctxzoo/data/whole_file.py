"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_path(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` to write to; it is renamed when the block ends without an error.

    The folder is made where it is missing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """The same, opened for writing."""
    with whole_path(path) as temporary, temporary.open("wb") as file:
        yield file
