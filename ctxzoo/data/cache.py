"""Prepared data on disk: one folder for each content hash, whole or not there."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

LEFTOVER_SECONDS = 24 * 3600  # far longer than any build takes


def default_cache_folder() -> Path:
    """Return `$CTXZOO_CACHE`, or `ctxzoo` in the user's cache folder."""
    if "CTXZOO_CACHE" in os.environ:
        return Path(os.environ["CTXZOO_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ctxzoo"


def content_hash(parts: Iterable[str]) -> str:
    """Return a short hash of the parts, in order; no part can run into the next."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()[:24]


def cached_folder(folder: Path, build: Callable[[Path], None]) -> Path:
    """Return `folder`, filled by `build(temporary folder)` if it is not there yet.

    The temporary folder gets its name only when `build` has returned: an interrupted write leaves nothing that a later
    run would take for whole. Of several processes that build at once the first to finish wins. What a killed build of
    the same folder left more than a day ago is removed.

    Raises:
        OSError: the cache cannot be written or is full; the message names the folder and `CTXZOO_CACHE`.
    """
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(folder)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise _not_writable(folder, error) from error
    try:
        # A folder inside, because mkdtemp's own is closed to other users, who may share the cache.
        temporary = scratch / folder.name
        temporary.mkdir()
        build(temporary)
        try:
            os.replace(temporary, folder)
        except OSError:
            if not folder.is_dir():
                raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _not_writable(folder, error) from error
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _remove_leftovers(folder: Path) -> None:
    """Remove temporary folders of this name that no running build can still be writing to."""
    # A parallel build may remove the same ones, or they are another user's: neither may stop this build.
    with contextlib.suppress(OSError):
        for path in folder.parent.iterdir():
            if path.name.startswith(f".{folder.name}-") and time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


def _not_writable(folder: Path, error: OSError) -> OSError:
    return OSError(
        error.errno,
        f"cannot write prepared data to {folder.parent}: {error}. Set CTXZOO_CACHE to a folder that can be written",
    )
