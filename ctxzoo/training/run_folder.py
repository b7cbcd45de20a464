"""The folder of a run: one process at a time works in it, and a full disk ends the run with one line."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from filelock import FileLock, Timeout
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from ctxzoo.data.files import atomic_file

LOCK = ".run.lock"
_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# The words of libraries in Rust for these errors, which reach Python as other exceptions than OSError.
_TEXTS = tuple(f"(os error {number})" for number in _NUMBERS)


class RunLockedError(OSError):
    """Another process works on the run; the message says which."""


@contextmanager
def lock_run_files(lock: Path, option: str) -> Iterator[None]:
    """Lock a run's files while this context lasts, so that no other process writes them.

    The operating system gives the lock back when the process ends, however it ends. Of the processes that train
    together the first holds it; the others pass.

    Args:
        lock: Path of the lock file, in an existing folder; a file beside it names the process that holds the lock.
        option: Option of the command line, such as "--output_dir", that error messages suggest for a second run.

    Raises:
        RunLockedError: another run has it.
    """
    if rank_zero_only.rank != 0:
        yield
        return
    owner = lock.with_name(f"{lock.name}.owner")
    file_lock = FileLock(lock)
    try:
        file_lock.acquire(timeout=0)
    except Timeout:
        raise RunLockedError(
            f"{lock.parent} belongs to another run, {_describe_lock_owner(owner)}; "
            f"wait for it, end it, or choose another {option}"
        ) from None
    try:
        since = datetime.now(timezone.utc).isoformat(timespec="seconds")
        with atomic_file(owner) as file:
            file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since}).encode())
        yield
    finally:
        owner.unlink(missing_ok=True)
        file_lock.release()


def _describe_lock_owner(owner: Path) -> str:
    """Return the process that holds a run's folder, from the file `owner` beside the lock."""
    try:
        owner_facts = json.loads(owner.read_text(encoding="utf-8"))
        return f"process {owner_facts['pid']} on {owner_facts['host']} since {owner_facts['since']}"
    except (OSError, ValueError, KeyError, TypeError):  # it is about to say so
        return "which has just begun"


class FullDiskError(OSError):
    """Nothing more could be written."""


@contextmanager
def raise_full_disk_errors(folder: Path) -> Iterator[None]:
    """Turn errors from a full disk within this context into a `FullDiskError`.

    Args:
        folder: Folder of the run, named in the error message.

    Raises:
        FullDiskError: what was written before is whole, since a file gets its name when all of it is on disk.
    """
    try:
        yield
    except Exception as error:
        reason = _find_os_error_reason(error)
        if reason is None:
            raise
        raise FullDiskError(
            f"cannot write more below {folder}: {reason}; what was written before is whole. Free some space and go on "
            "with --resume"
        ) from error


def _find_os_error_reason(error: BaseException | None) -> str | None:
    """Return the operating system's text of an error or of one that caused it."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NUMBERS:
            return error.strerror or str(error)
        if any(text in str(error) for text in _TEXTS):
            return str(error).splitlines()[0]
        error = error.__cause__ or error.__context__
    return None
