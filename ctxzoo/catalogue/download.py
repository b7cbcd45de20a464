"""Raw files: downloaded so that an interrupted download goes on, or handed over in a folder; checked by sha256."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import requests
from filelock import FileLock
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from ctxzoo.catalogue.entry import Files, RawFile
from ctxzoo.data.files import default_cache_folder, hash_strings, write_atomically
from ctxzoo.data.notices import format_error_on_one_line

BLOCK = 2**20
PIECE = 2**14  # bytes that a connection which breaks loses at most
LARGEST = 2**30  # bytes of one file; those of the catalogue have up to some hundred million
TIMEOUT_SECONDS = 30.0
_RANGE = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")


class RawFilesMissingError(OSError):
    """Raw files could not be fetched.

    Attributes:
        files: Raw files that are missing and that a person has to fetch.
    """

    def __init__(self, message: str, files: Iterable[RawFile]) -> None:
        super().__init__(message)
        self.files = tuple(files)


class WrongContentError(ValueError):
    """A raw file, or what was built, is not what it has to be."""


def download_files(files: Iterable[RawFile]) -> Files:
    """Download files into the cache and return where they are; those that are there are kept.

    Raises:
        RawFilesMissingError: a file cannot be downloaded; what came of it stays, and the next call goes on from there.
            A file that a person has to fetch.
        WrongContentError: a file has another sha256 than it should, or than it had when it was first used; it is
            removed. A file of more than 1 GiB.
    """
    files = tuple(files)
    by_hand = [file for file in files if not file.is_downloaded]
    if by_hand:
        raise RawFilesMissingError(f"{by_hand[0].name} is not downloaded here; `{by_hand[0].url}` fetches it", by_hand)
    paths: dict[str, Path] = {}
    with _make_progress_bar() as progress:
        for number, file in enumerate(files, start=1):
            target = get_cache_path(file)
            bar = progress.add_task(f"{number}/{len(files)} {file.name}", total=None)
            try:
                _download_file(file, target, progress, bar)
            except requests.RequestException as error:
                part = _get_partial_download_path(target)
                have = f", {part.stat().st_size:,} bytes of it are kept" if part.is_file() else ""
                rest = [raw for raw in files if not get_cache_path(raw).is_file()]
                raise RawFilesMissingError(
                    f"{file.url} cannot be fetched ({_format_request_error(error)}{have})", rest
                ) from error
            check_digest(file, target, remove=True)
            paths[file.name] = target
            progress.remove_task(bar)
    return paths


def find_raw_files(files: Iterable[RawFile], folder: Path) -> Files:
    """Return the paths of raw files that a person put into a folder.

    Raises:
        RawFilesMissingError: a file is not there, or there is no such folder.
        WrongContentError: a file has another sha256 than it should.
    """
    files = tuple(files)
    missing = [file for file in files if not (folder / file.name).is_file()]
    if missing:
        names = ", ".join(shlex.quote(file.name) for file in missing[:3]) + (", …" if len(missing) > 3 else "")
        raise RawFilesMissingError(f"{folder} lacks {len(missing)} of {len(files)} files: {names}", missing)
    for file in files:
        check_digest(file, folder / file.name)
    return {file.name: folder / file.name for file in files}


def delete_downloads(files: Iterable[RawFile]) -> None:
    """Remove downloaded files from the cache, because they are not what they should be."""
    for file in files:
        get_cache_path(file).unlink(missing_ok=True)


def store_download_digests(files: Iterable[RawFile]) -> None:
    """Store the sha256 of downloads that proved right and whose entry has none, to compare later downloads with."""
    for file in files:
        digest_file = _get_digest_path(get_cache_path(file))
        if file.sha256 is None and file.sha512 is None and not digest_file.is_file():
            write_atomically(digest_file, _hash_file(get_cache_path(file), "sha256").encode())


def get_cache_path(file: RawFile) -> Path:
    """Return where a file is kept after its download; files of one name have folders of their own."""
    return default_cache_folder() / "downloads" / hash_strings([file.url]) / file.name


def check_digest(file: RawFile, path: Path, *, remove: bool = False) -> None:
    """Raise an error if a file's sha256 is not that of its entry or, without one there, of the first download.

    Args:
        file: Catalogue's record of the raw file, with its digest.
        path: Path of the file on this machine.
        remove: Whether a wrong file is removed, so that it is downloaded again.

    Raises:
        WrongContentError: the digest is another.
    """
    digest_file = _get_digest_path(get_cache_path(file))
    algorithm, expected = ("sha256", file.sha256) if file.sha512 is None else ("sha512", file.sha512)
    remembered = expected is None and digest_file.is_file()
    if remembered:
        expected = digest_file.read_text().strip()
    if expected is None:
        return
    digest = _hash_file(path, algorithm)
    if digest != expected:
        if remove:
            path.unlink()
        source = f"from {file.url}" if file.is_downloaded else f"by `{file.url}`"
        advice = "it was removed: try again" if remove else f"fetch it again {source}"
        if remembered:
            advice += (
                f"; that of the first download is kept in {digest_file}: remove it if the source has changed the file"
            )
        raise WrongContentError(f"{path} has the {algorithm} {digest}; expected {expected}; {advice}")


def _hash_file(path: Path, algorithm: str) -> str:
    """Return the hash of the file in hexadecimal digits."""
    digest = hashlib.new(algorithm)
    with path.open("rb") as content:
        while block := content.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _get_digest_path(target: Path) -> Path:
    """Return where the sha256 of a downloaded file is stored: beside it."""
    return target.with_name(f"{target.name}.sha256")


def _get_partial_download_path(target: Path) -> Path:
    """Return where an unfinished download is stored: beside the file."""
    return target.with_name(f"{target.name}.part")


def _download_file(file: RawFile, target: Path, progress: Progress, bar: TaskID) -> None:
    """Download the file to `target`, going on where an interrupted download ended; `bar` shows the progress."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = _get_partial_download_path(target)
    with FileLock(f"{part}.lock"):
        if target.is_file():
            return
        have = part.stat().st_size if part.is_file() else 0
        if not _append_download(file.url, part, have, progress, bar):
            part.unlink(missing_ok=True)
            _append_download(file.url, part, 0, progress, bar)
        os.replace(part, target)


def _append_download(url: str, partial_file: Path, bytes_present: int, progress: Progress, bar: TaskID) -> bool:
    """Download the bytes of a file that are missing; return False if the server cannot continue a download."""
    headers = {"Accept-Encoding": "identity"}  # otherwise positions in the file are not those of the transfer
    if bytes_present:
        headers["Range"] = f"bytes={bytes_present}-"
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as response:
        if bytes_present:
            start = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if (
                response.status_code != requests.codes.partial_content
                or start is None
                or int(start[1]) != bytes_present
            ):
                return False
        response.raise_for_status()
        length = response.headers.get("Content-Length")
        progress.update(bar, completed=bytes_present, total=bytes_present + int(length) if length else None)
        num_bytes = bytes_present
        with _open_partial_file(partial_file, truncate=not bytes_present) as content:
            for block in response.iter_content(PIECE):
                num_bytes += len(block)
                if num_bytes > LARGEST:
                    break
                content.write(block)
                progress.advance(bar, len(block))
    if num_bytes > LARGEST:
        partial_file.unlink()
        raise WrongContentError(f"{url} has more than {LARGEST:,} bytes; no file of the catalogue is so large")
    return True


def _open_partial_file(partial_file: Path, *, truncate: bool) -> BinaryIO:
    """Open the unfinished download for writing, and refuse a link in its place."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if truncate else os.O_APPEND) | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(partial_file, flags, 0o666), "wb" if truncate else "ab")


def _format_request_error(error: requests.RequestException) -> str:
    """Return in a few words why a request failed."""
    if error.response is not None:
        return f"HTTP {error.response.status_code}"
    # Their own messages name pools and retries before they come to the reason.
    kinds = {
        requests.exceptions.ProxyError: "the proxy does not answer",
        requests.exceptions.SSLError: "the certificate is not accepted",
        requests.Timeout: f"no answer within {TIMEOUT_SECONDS:.0f} s",
        requests.ConnectionError: "no connection",
        requests.exceptions.ChunkedEncodingError: "the connection broke",
    }
    return next((reason for kind, reason in kinds.items() if isinstance(error, kind)), format_error_on_one_line(error))


@contextmanager
def _make_progress_bar() -> Iterator[Progress]:
    """Show the progress of downloads while the context is open, on terminals alone."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield progress
