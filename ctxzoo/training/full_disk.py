"""A disk that is full ends a run with one line, whichever library was writing."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# The words of libraries in Rust for these errors, which reach Python as other exceptions than OSError.
_TEXTS = tuple(f"(os error {number})" for number in _NUMBERS)


class FullDiskError(OSError):
    """Nothing more could be written."""


@contextmanager
def telling_of_full_disk(folder: Path) -> Iterator[None]:
    """Turn any error that comes from a full disk (or quota, or limit of a file's size) into a `FullDiskError`.

    Args:
        folder: of the run, for the message.

    Raises:
        FullDiskError: what was written before is whole, since a file gets its name when all of it is on disk.
    """
    try:
        yield
    except Exception as error:
        reason = _reason(error)
        if reason is None:
            raise
        raise FullDiskError(
            f"cannot write more below {folder}: {reason}; what was written before is whole. Free some space and go on "
            "with --resume"
        ) from error


def _reason(error: BaseException | None) -> str | None:
    """Return what the operating system said, of the error or of one that it came from."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NUMBERS:
            return error.strerror or str(error)
        if any(text in str(error) for text in _TEXTS):
            return str(error).splitlines()[0]
        error = error.__cause__ or error.__context__
    return None
