"""A repository of the Hub: its name, errors that say what to do, and a check before any of its code is run."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from huggingface_hub import HfApi, constants, get_session, hf_hub_url
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import (  # type: ignore[attr-defined, unused-ignore]
    build_hf_headers,
    hf_raise_for_status,
)

from ctxzoo.data.files import HUB_VARIABLE, path_exists, refuse_missing_path
from ctxzoo.data.notices import format_error_on_one_line
from ctxzoo.hub.card_parts import parse_file_hashes, parse_release
from ctxzoo.hub.folder_checks import (
    check_checkpoint_files,
    check_checkpoint_folder,
    read_architecture,
    read_tensor_shapes,
)
from ctxzoo.hub.folder_files import (
    CARD,
    CONFIG,
    WEIGHTS,
    CheckpointFolderError,
    check_file_names,
    has_packed_code,
    join_first_names,
)
from ctxzoo.hub.listing import describe_listing_differences, list_repository_files

LARGEST_FILE = 2**27  # bytes of a file beside the weights, and of the head of these
_NAME = re.compile(r"[\w.-]+")
_HTTP_LIBRARIES = ("httpx", "httpx2", "httpcore", "requests")


class HubError(OSError):
    """The Hub could not be reached or refused; the message says why and what to do."""


class Repository(NamedTuple):
    """A repository of the Hub, and which of its revisions.

    Attributes:
        repo_id: Name of the repository, `user/name`.
        revision: Branch, tag or commit; None: the main branch.
    """

    repo_id: str
    revision: str | None


@dataclass(frozen=True)
class VerifiedCheckpoint:
    """A checkpoint that was checked.

    Attributes:
        name: Name of what was checked: a folder, or `user/name@commit` for a repository.
        packed: Whether code of the installed release is packed with the checkpoint; otherwise only ctxzoo loads it.
        release: Release of ctxzoo named in the card; None: the card names none.
        listed: Number of files whose hashes the card lists, all of them right.
    """

    name: str
    packed: bool
    release: str | None
    listed: int


def find_repository(checkpoint: str) -> Repository | None:
    """Return the repository that a checkpoint's name means; None for a folder, which wins over a repository.

    Args:
        checkpoint: Folder, or `user/name`, with or without `@revision`; a name alone is that of a repository of the
            user whom the variable CTXZOO_HUB names.

    Raises:
        FileNotFoundError: see `refuse_missing_path`.
        ValueError: CTXZOO_HUB is no user's name.
    """
    if checkpoint and path_exists(Path(checkpoint)):
        return None
    name, _, revision = checkpoint.partition("@")
    user = os.environ.get(HUB_VARIABLE, "")
    if user and _NAME.fullmatch(name):
        if not _NAME.fullmatch(user):
            raise ValueError(f"{HUB_VARIABLE} is {user!r}; expected the name of a user or organisation of the Hub")
        name = f"{user}/{name}"
    refuse_missing_path(name, "checkpoint", revision=revision or None)
    return Repository(name, revision or None)


def verify(checkpoint: str) -> VerifiedCheckpoint:
    """Check a checkpoint: a folder, or a repository as `find_repository` reads it; packed or without code.

    Raises:
        CheckpointFolderError: see `check_checkpoint_folder`.
        OSError: the Hub cannot be reached, or has no such repository or revision.
    """
    repository = find_repository(checkpoint)
    if repository is not None:
        return check_repository(*repository)
    check_checkpoint_folder(checkpoint)
    return _verify_folder(checkpoint, Path(checkpoint))


def check_repository(repo_id: str, revision: str | None = None) -> VerifiedCheckpoint:
    """Check a repository as `verify` does: its list of files, their sizes, hashes and content.

    The weights are not downloaded, but for their head with names and shapes: the Hub lists their hash.

    Raises:
        CheckpointFolderError, OSError: see `verify`.
    """
    api = HfApi()
    with convert_download_errors(repo_id), tempfile.TemporaryDirectory() as temporary:
        repository = api.model_info(repo_id, revision=revision, files_metadata=True)
        repository_name, folder = f"{repo_id}@{repository.sha}", Path(temporary)
        listed = list_repository_files(repository)
        if CONFIG not in listed:
            raise CheckpointFolderError(f"{repository_name} has no {CONFIG}; it is not a checkpoint")
        large = [name for name, file in sorted(listed.items()) if file.size > LARGEST_FILE and name != WEIGHTS]
        if large:
            raise CheckpointFolderError(
                f"{repository_name} holds {join_first_names(large)}, larger than {LARGEST_FILE:,} bytes"
            )
        try:
            api.hf_hub_download(repo_id, CONFIG, revision=repository.sha, local_dir=folder)
            check_file_names(listed, read_architecture(folder)[0], repository_name)
            weights = listed[WEIGHTS]
            whole = listed.keys() - ({WEIGHTS} if weights.sha256 else set())
            for name in whole - {CONFIG}:
                api.hf_hub_download(repo_id, name, revision=repository.sha, local_dir=folder)
            if weights.sha256:
                url = hf_hub_url(repo_id, WEIGHTS, revision=repository.sha)
                _download_safetensors_header(url, weights.size, folder / WEIGHTS)
            differences = describe_listing_differences(folder, sorted(whole), listed)
            if differences:
                raise HubError(f"{repository_name} arrived damaged: {join_first_names(differences, '; ')}; try again")
            hashes = {WEIGHTS: weights.sha256} if weights.sha256 else {}
            check_checkpoint_files(folder, read_tensor_shapes(folder / WEIGHTS), hashes)
        except CheckpointFolderError as error:
            raise CheckpointFolderError(str(error).replace(str(folder), repository_name)) from error
        return _verify_folder(repository_name, folder)


def _verify_folder(name: str, folder: Path) -> VerifiedCheckpoint:
    """Return what is known of a checkpoint folder: whether it has code, and of which release."""
    card = (folder / CARD).read_text(encoding="utf-8")
    return VerifiedCheckpoint(name, has_packed_code(folder), parse_release(card), len(parse_file_hashes(card)))


def _download_safetensors_header(url: str, size: int, file: Path) -> None:
    """Write the head of a safetensors file, then a hole for its numbers, as `read_tensor_shapes` reads it."""
    length = int.from_bytes(_download_byte_range(url, 0, 8), "little")
    if not 0 < length <= min(LARGEST_FILE, size - 8):
        raise CheckpointFolderError(f"{file} is damaged or incomplete (a head of {length} bytes in {size})")
    with file.open("wb") as stream:
        stream.write(_download_byte_range(url, 0, 8 + length))
        stream.truncate(size)


def _download_byte_range(url: str, start: int, end: int) -> bytes:
    """Return the bytes of a file on the Hub from `start` up to, but not including, `end`."""
    answer = get_session().get(url, headers={**build_hf_headers(), "Range": f"bytes={start}-{end - 1}"})
    hf_raise_for_status(answer)
    return bytes(answer.content[: end - start])


def is_connection_error(error: BaseException) -> bool:
    """Return whether an error is one of a connection that failed or broke."""
    # The HTTP library below the client differs between its versions; its errors share no base with ours.
    return isinstance(error, ConnectionError) or type(error).__module__.split(".")[0] in _HTTP_LIBRARIES


@contextmanager
def convert_request_errors(repo_id: str) -> Iterator[None]:
    """Within a `with` block, turn errors of a request that got no answer into `HubError`."""
    try:
        yield
    except HFValidationError as error:
        raise ValueError(f"{repo_id!r} is no repository: {format_error_on_one_line(error)}") from error
    except OfflineModeIsEnabled as error:
        raise HubError("the Hub client is in offline mode; unset HF_HUB_OFFLINE to reach the Hub") from error
    except (HfHubHTTPError, EntryNotFoundError):
        raise
    except Exception as error:
        if not is_connection_error(error):
            raise
        raise HubError(
            f"the Hub at {constants.ENDPOINT} cannot be reached ({format_error_on_one_line(error)}); check the network"
        ) from error


@contextmanager
def convert_download_errors(repo_id: str) -> Iterator[None]:
    """Within a `with` block, turn errors of a download into `HubError`, or ValueError if `repo_id` is no valid name."""
    try:
        with convert_request_errors(repo_id):
            yield
    except RepositoryNotFoundError as error:
        raise HubError(
            f"there is no folder {repo_id!r} here and no such repository on the Hub; of a private or gated one, log in "
            "with `hf auth login`"
        ) from error
    except RevisionNotFoundError as error:
        raise HubError(f"{repo_id} has no such revision; expected a branch, tag or commit of it") from error
    except LocalEntryNotFoundError as error:
        raise HubError(
            f"there is no folder {repo_id!r} here, and a repository of that name is not in the cache, while the Hub at "
            f"{constants.ENDPOINT} cannot be reached; check path and network"
        ) from error
    except EntryNotFoundError as error:
        raise HubError(f"{repo_id} lacks a file of a ctxzoo checkpoint: {format_error_on_one_line(error)}") from error
    except HfHubHTTPError as error:
        said = error.server_message or format_error_on_one_line(error)
        raise HubError(f"the Hub refused {repo_id} with status {error.response.status_code}: {said}") from error
