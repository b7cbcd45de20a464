"""Text of files, which are UTF-8."""

from __future__ import annotations

from pathlib import Path

from ctxzoo.data.sources import DatasetFileError


def read_utf8(file: Path) -> str:
    """Return the text of a file, without a byte order mark.

    Raises:
        DatasetFileError: it is not UTF-8; the message names the position of the byte.
        OSError: it cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetFileError(f"{file}: not UTF-8 text at byte {error.start}; save it as UTF-8") from error
