"""One process at a time works on a run: its folder is locked as long as the process lives."""

from __future__ import annotations

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


class RunLockedError(OSError):
    """Another process works on the run; the message says which."""


@contextmanager
def locked_run(lock: Path, option: str) -> Iterator[None]:
    """Keep other runs out of the files of this one while the block lasts.

    The operating system gives the lock back when the process ends, however it ends. Of the processes that train
    together the first holds it; the others pass.

    Args:
        lock: the file of the lock, in a folder that is there; beside it a file names who has it.
        option: of the command line, which leads a second run elsewhere.

    Raises:
        RunLockedError: another run has it.
    """
    if rank_zero_only.rank != 0:
        yield
        return
    owner = lock.with_name(f"{lock.name}.owner")
    held = FileLock(lock)
    try:
        held.acquire(timeout=0)
    except Timeout:
        raise RunLockedError(
            f"{lock.parent} belongs to another run, {_told(owner)}; wait for it, end it, or choose another {option}"
        ) from None
    try:
        since = datetime.now(timezone.utc).isoformat(timespec="seconds")
        with atomic_file(owner) as file:
            file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since}).encode())
        yield
    finally:
        owner.unlink(missing_ok=True)
        held.release()


def _told(owner: Path) -> str:
    try:
        owner_facts = json.loads(owner.read_text(encoding="utf-8"))
        return f"process {owner_facts['pid']} on {owner_facts['host']} since {owner_facts['since']}"
    except (OSError, ValueError, KeyError, TypeError):  # it is about to say so
        return "which has just begun"
