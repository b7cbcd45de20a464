"""Files and folders: atomic writes, prepared data kept by its content, and checks of the paths that a user gives."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

# Names of datasets that ctxzoo builds. They are on no hub: whoever registered one there could swap what is loaded.
OWN_NAMESPACE = "ctxzoo-data"
LEFTOVER_SECONDS = 24 * 3600  # far longer than any build takes
_PART = r"[A-Za-z0-9_][\w.-]*"
_HUB_ID = re.compile(rf"{_PART}(?:/{_PART})?")


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


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Give a new folder beside `path` to fill, which takes the place of `path` when the block ends without an error.

    What was there before is removed. After an error it stays as it was, and nothing of the new folder is left.

    Raises:
        OSError: the folder cannot be made or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        # A folder inside, because mkdtemp's own is closed to other users.
        fresh, earlier = scratch / path.name, scratch / "earlier"
        fresh.mkdir()
        yield fresh
        if path.exists():
            os.replace(path, earlier)
        os.replace(fresh, path)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file by `atomic_file`, the folder too where it is missing; errors are those of `atomic_path`."""
    with atomic_file(path) as file:
        file.write(content)


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


def check_writable(folder: Path, option: str = "--output_dir") -> None:
    """Make sure that a run can write into `folder` before hours are spent.

    Args:
        folder: is made where it is missing.
        option: of the command line, which leads the run elsewhere.

    Raises:
        OSError: the folder cannot be made or written; the message says why.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder) as probe:
            probe.write(bytes(2**20))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        raise OSError(f"cannot write to {folder}: {error}; choose another {option} or free some space") from error


def refuse_missing_path(name: str, what: str) -> None:
    """Refuse a name that can only be a path, of which nothing exists.

    Args:
        name: as a user gave it.
        what: what it should be, as "checkpoint", for the message.

    Raises:
        FileNotFoundError: it neither exists as a path nor has the form of a Hub id, or it is a name that is on no hub.
    """
    if name and Path(name).exists():
        return
    if not _HUB_ID.fullmatch(name):
        raise FileNotFoundError(f"there is no {what} {name!r}: no such folder or file, and no Hub id, as user/name")
    if is_own_name(name):
        raise FileNotFoundError(
            f"there is no {what} {name!r}: names under {OWN_NAMESPACE}/ are of datasets and on no hub; "
            f"ctxzoo data get {name} gets one"
        )


def is_own_name(name: str) -> bool:
    """Return whether `name` is one that ctxzoo builds, which is looked up in the data folder and never on the Hub."""
    return name.partition("/")[0] == OWN_NAMESPACE
