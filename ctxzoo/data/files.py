"""Files and folders: atomic writes, prepared data kept by its content, and checks of the paths that a user gives."""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import logging
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock

from ctxzoo.data.notices import format_error_reason

logger = logging.getLogger(__name__)

# Names of datasets that ctxzoo builds. They are on no hub: whoever registered one there could swap what is loaded.
OWN_NAMESPACE = "ctxzoo-data"
NAME_KEPT = 50  # letters of a name that its temporary name begins with; names may have 255 bytes
MOST_LINKS = 40  # of a chain, as Linux has it
HUB_PROBE_SECONDS = 5.0
# Files that are read where a folder is named as data. A name that ends in one of the second is on no hub.
DATA_SUFFIXES = (
    *(".csv", ".tsv", ".json", ".jsonl", ".parquet", ".txt", ".conll", ".conllu", ".bio", ".iob", ".mid", ".midi"),
    *(".gz", ".zst", ".bz2", ".zip"),
)
FILE_SUFFIXES = (*DATA_SUFFIXES, ".vec", ".safetensors", ".ckpt")
SWAP_SECONDS = 1.0  # far longer than two renames take
_SWAP_LOCK = "lock"
LEFTOVER_SECONDS = 24 * 3600  # far longer than any build takes
_PART = r"[A-Za-z0-9_][\w.-]*"
HUB_VARIABLE = "CTXZOO_HUB"  # names the user of checkpoints on the Hub that are named without one
_HUB_ID = re.compile(rf"{_PART}(?:/{_PART})?")


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to, and rename it to `path` when the `with` block ends without an error.

    The folder is made where it is missing. A link stays: what it points to is replaced. What is there and is no regular
    file (a pipe, a device, an open file such as /dev/stdout) is not replaced either: the content is written into it
    when the block ends. After an error nothing of the temporary file is left. Its name cannot be guessed, and it is
    never an existing file or link; so several threads and processes may write one `path`, and the last to end wins.

    Raises:
        OSError: The folder or the file cannot be written; `path` is a folder.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected a file to write")
    if is_pipe_or_device(path):
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder) / "content"
            yield temporary
            with temporary.open("rb") as content, _open_pipe_or_device(path) as out:
                shutil.copyfileobj(content, out)
        return
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name[:NAME_KEPT]}.{secrets.token_hex(8)}.tmp")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666))
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))  # what was private stays so
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def temporary_file_pattern(name: str) -> str:
    """Return the pattern, for `glob`, of the temporary names that `atomic_path` gives to a file of this name."""
    return f".{glob.escape(name[:NAME_KEPT])}.*.tmp"


def is_pipe_or_device(path: Path) -> bool:
    """Return whether `path` exists but is no regular file: a pipe, a device or /dev/stdout."""
    try:
        return not stat.S_ISREG(path.stat().st_mode) or _find_file_descriptor(path) is not None
    except OSError:  # it is not there, or below what is no folder, or in one that may not be looked into
        return False


def _open_pipe_or_device(path: Path) -> BinaryIO:
    """Open a pipe or device for writing, without truncating it, so that `>>` of a shell appends."""
    descriptor = _find_file_descriptor(path)
    if descriptor is None:
        return os.fdopen(os.open(path, os.O_WRONLY), "wb")
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return os.fdopen(os.dup(descriptor), "wb")


def _find_file_descriptor(path: Path) -> int | None:
    """Return the number of the open file that a path such as /dev/stdout or /dev/fd/3 stands for, or None."""
    place = os.path.abspath(path)
    for _ in range(MOST_LINKS):
        folder, name = os.path.split(place)
        folder = os.path.realpath(folder)
        if name.isdigit() and folder in ("/dev/fd", os.path.realpath("/proc/self/fd")):
            return int(name)
        if not os.path.islink(place):
            break
        place = os.path.join(folder, os.readlink(place))
    return None


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for bytes that replaces `path` when the `with` block ends without error; see `atomic_path`."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        yield file


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a new folder to fill, which replaces `path` when the `with` block ends without an error.

    What was there before is removed; of a link, what it points to. After an error it stays as it was, and nothing of
    the new folder is left.

    Raises:
        OSError: The folder cannot be made or written; `path` is a file.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    path_exists(target)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name[:NAME_KEPT]}-", dir=target.parent))
    try:
        # A folder inside, because mkdtemp's own is closed to other users.
        fresh = scratch / target.name
        fresh.mkdir()
        yield fresh
        replace_folder(fresh, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def replace_folder(new_folder: Path, folder: Path) -> None:
    """Replace `folder`, which may be missing, by `new_folder`; if that fails, put the old one back.

    Between two renames there is no `folder`. Where the process is killed there, `path_exists` finds it aside.

    Raises:
        OSError: It cannot be replaced. If it cannot be put back either, the message says where it is.
    """
    if not folder.exists():
        os.replace(new_folder, folder)
        return
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; expected a folder to replace, or a new name")
    scratch = Path(tempfile.mkdtemp(prefix=_backup_folder_prefix(folder.name), dir=folder.parent))
    aside = scratch / folder.name
    try:
        with FileLock(scratch / _SWAP_LOCK):
            os.replace(folder, aside)
            try:
                os.replace(new_folder, folder)
            except BaseException:
                _restore_replaced_folder(aside, folder)
                raise
            os.replace(aside, scratch / "removed")  # a name that nobody puts back
    finally:
        if not aside.exists():
            shutil.rmtree(scratch, ignore_errors=True)


def _restore_replaced_folder(aside: Path, folder: Path) -> None:
    """Move the folder back from `aside`, after its replacement failed."""
    try:
        os.replace(aside, folder)
    except OSError as error:
        raise OSError(
            error.errno, f"{folder} could not be replaced; what it held is in {aside}: {format_error_reason(error)}"
        ) from error


def path_exists(path: Path) -> bool:
    """Return whether a file or folder exists, after putting back what a killed `replace_folder` moved aside."""
    if not path.exists():
        with contextlib.suppress(OSError, ValueError):  # a name that no file can have, or in another user's folder
            _restore_after_killed_replacement(Path(os.path.realpath(path)))
    return path.exists()


def _restore_after_killed_replacement(folder: Path) -> None:
    """Move the folder back into its place if a process was killed while it replaced it."""
    for aside in folder.parent.glob(f"{glob.escape(_backup_folder_prefix(folder.name))}*/{glob.escape(folder.name)}"):
        with FileLock(aside.parent / _SWAP_LOCK, timeout=SWAP_SECONDS):  # a process that is not dead ends its swap
            if not folder.exists():
                os.replace(aside, folder)
                logger.warning("%s is put back: a process was killed while it replaced it", folder)
        if not aside.exists():
            shutil.rmtree(aside.parent, ignore_errors=True)


def _backup_folder_prefix(name: str) -> str:
    """Return how the name begins of the folder in which the old `name` is kept while it is replaced."""
    return f".{name[:NAME_KEPT]}-old-"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file by `atomic_file`, the folder too where it is missing; errors are those of `atomic_path`."""
    with atomic_file(path) as file:
        file.write(content)


def default_cache_folder() -> Path:
    """Return `$CTXZOO_CACHE`, or `ctxzoo` in the user's cache folder."""
    if "CTXZOO_CACHE" in os.environ:
        return Path(os.environ["CTXZOO_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ctxzoo"


def hash_strings(parts: Iterable[str]) -> str:
    """Return a short hash of the strings, in order, such that ("ab", "c") and ("a", "bc") differ."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()[:24]


def build_cached_folder(folder: Path, build: Callable[[Path], None]) -> Path:
    """Return `folder`, and call `build(temporary folder)` to fill it first if it does not exist.

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
        _remove_stale_temporary_folders(folder)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise _make_cache_not_writable_error(folder, error) from error
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
            raise _make_cache_not_writable_error(folder, error) from error
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _remove_stale_temporary_folders(folder: Path) -> None:
    """Remove temporary folders of this name that no running build can still be writing to."""
    # A parallel build may remove the same ones, or they are another user's: neither may stop this build.
    with contextlib.suppress(OSError):
        for path in folder.parent.iterdir():
            if path.name.startswith(f".{folder.name}-") and time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


def _make_cache_not_writable_error(folder: Path, error: OSError) -> OSError:
    """Return the error that says the cache cannot be written and how to choose another."""
    return OSError(
        error.errno,
        f"cannot write prepared data to {folder.parent}: {format_error_reason(error)}. Set CTXZOO_CACHE to a folder "
        "that can be written",
    )


def check_folder_is_writable(folder: Path, option: str = "--output_dir") -> None:
    """Raise an error now if a run cannot write into `folder`, rather than after hours.

    Args:
        folder: Folder to be written to; it is created where it is missing.
        option: Command-line option with which a user chooses another folder, for the error message.

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
        raise OSError(
            f"cannot write to {folder}: {format_error_reason(error)}; choose another {option} or free some space"
        ) from error


def check_output_file(path: Path, option: str, inputs: Iterable[str | Path] = ()) -> None:
    """Raise an error, before anything is computed, if the output cannot be written or is one of the inputs.

    Args:
        path: File to be written; its folder is created where it is missing. A pipe or device is accepted without a try.
        option: Command-line option that names the file, for the error message.
        inputs: Files and other data, such as Hub ids, that the command reads and that must not be overwritten.

    Raises:
        OSError: `path` is a folder, or its folder cannot be made or written; the message says why.
        ValueError: `path` is one of `inputs`, by the same name or another.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(f"{option} {path} is a folder; expected a file to write")
    if is_pipe_or_device(path):
        return
    for name in inputs:
        if path.exists() and os.path.exists(name) and os.path.samefile(path, name):
            raise ValueError(f"{option} {path} is the file that is read, which it would replace; choose another name")
    check_folder_is_writable(Path(os.path.realpath(path)).parent, option)


def refuse_output_among_inputs(path: Path, option: str, inputs: Iterable[str | Path]) -> None:
    """Raise an error for an output file in a folder of data, which the next command would read as data.

    Args:
        path: Path of a data file with one of `DATA_SUFFIXES`, or of a folder; it need not exist.
        option: Command-line option that names the file, for the error message.
        inputs: Data that the command reads; files at any depth of its folders count.

    Raises:
        ValueError: `path` lies in a folder of `inputs`, by whatever links and names.
    """
    for name in inputs:
        if os.path.isdir(name) and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(name)):
            raise ValueError(
                f"{option} {path} lies in {name}, whose files are read as data, and would be read with them the next "
                "time; choose another folder"
            )


def refuse_filled_folder(folder: Path, purpose: str) -> None:
    """Raise FileExistsError if a folder that is to be written is there, unless it is an empty folder.

    Args:
        folder: Folder, which may be missing.
        purpose: What the folder is for, in the error message.
    """
    if path_exists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise FileExistsError(f"{folder} is there and not an empty folder; choose another name for {purpose}")


def refuse_missing_path(name: str, kind: str, *, revision: str | None = None) -> None:
    """Raise FileNotFoundError within seconds if what the user named is neither a path nor on the Hub.

    Args:
        name: Path or Hub id, as the user typed it.
        kind: Kind of thing that was expected, such as "checkpoint", for the error message.
        revision: Branch, tag or commit on the Hub; default: the main branch.

    Raises:
        FileNotFoundError: it neither exists as a path nor has the form of a Hub id; it is a name that is on no hub, or
            that of a file; the Hub does not answer, and its cache lacks it.
    """
    if name and path_exists(Path(name)):
        return
    if not _HUB_ID.fullmatch(name):
        raise FileNotFoundError(f"there is no {kind} {name!r}: no such folder or file, and no Hub id, as user/name")
    if is_ctxzoo_dataset_name(name):
        raise FileNotFoundError(
            f"there is no {kind} {name!r}: names under {OWN_NAMESPACE}/ are of datasets and on no hub; "
            f"ctxzoo data get {name} gets one"
        )
    if Path(name).suffix.lower() in FILE_SUFFIXES:
        raise FileNotFoundError(f"there is no {kind} {name!r}: no such file")
    if not _is_in_hub_cache(name, revision) and not is_hub_reachable():
        from huggingface_hub import constants

        raise FileNotFoundError(
            f"there is no folder {name!r} here, and a repository of that name is not in the cache, while the Hub at "
            f"{constants.ENDPOINT} cannot be reached; check path and network"
        )


def _is_in_hub_cache(name: str, revision: str | None) -> bool:
    """Whether the Hub need not be asked for the model `name`: it is in the cache, or the Hub is off."""
    from huggingface_hub import constants, try_to_load_from_cache

    return constants.HF_HUB_OFFLINE or isinstance(try_to_load_from_cache(name, "config.json", revision=revision), str)


def is_hub_reachable() -> bool:
    """Return whether the Hub answers one short request; its own client would try again for half a minute."""
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=HUB_PROBE_SECONDS)
    except Exception:  # the HTTP library behind the session, and so its errors, differ between versions of the client
        return False
    return True


def is_ctxzoo_dataset_name(name: str) -> bool:
    """Return whether `name` is one that ctxzoo builds, which is looked up in the data folder and never on the Hub."""
    return name.partition("/")[0] == OWN_NAMESPACE
