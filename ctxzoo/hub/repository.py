"""A repository of the Hub: errors that say what to do, and a check before any of its code is run."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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

from ctxzoo.data.files import path_exists, refuse_missing_path
from ctxzoo.data.notices import format_error_on_one_line
from ctxzoo.hub.card_parts import parse_release
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

LARGEST_FILE = 2**27  # bytes of a file beside the weights, and of the head of these
_REPOSITORY = re.compile(r"(?P<repo_id>[\w.-]+/[\w.-]+)(?:@(?P<revision>\S+))?")
_HTTP_LIBRARIES = ("httpx", "httpx2", "httpcore", "requests")


class HubError(OSError):
    """The Hub could not be reached or refused; the message says why and what to do."""


@dataclass(frozen=True)
class VerifiedCheckpoint:
    """A checkpoint that was checked.

    Attributes:
        name: Name of what was checked: a folder, or `user/name@commit` for a repository.
        packed: Whether code of the installed release is packed with the checkpoint; otherwise only ctxzoo loads it.
        release: Release of ctxzoo named in the card; None: the card names none.
    """

    name: str
    packed: bool
    release: str | None


def verify(checkpoint: str) -> VerifiedCheckpoint:
    """Check a checkpoint: a folder, or a repository `user/name` or `user/name@revision`; packed or without code.

    Raises:
        CheckpointFolderError: see `check_checkpoint_folder`.
        OSError: the Hub cannot be reached, or has no such repository or revision.
    """
    repository = _REPOSITORY.fullmatch(checkpoint)
    if repository is None:
        refuse_missing_path(checkpoint, "checkpoint")
    if repository is None or path_exists(Path(checkpoint)):
        check_checkpoint_folder(checkpoint)
        return _verify_folder(checkpoint, Path(checkpoint))
    return check_repository(repository["repo_id"], repository["revision"])


def check_repository(repo_id: str, revision: str | None = None) -> VerifiedCheckpoint:
    """Check a repository as `verify` does: its list of files, their content, the names and shapes of its weights.

    Raises:
        CheckpointFolderError, OSError: see `verify`.
    """
    api = HfApi()
    with convert_download_errors(repo_id), tempfile.TemporaryDirectory() as temporary:
        repository = api.model_info(repo_id, revision=revision, files_metadata=True)
        repository_name, folder = f"{repo_id}@{repository.sha}", Path(temporary)
        sizes = {file.rfilename: file.size or 0 for file in repository.siblings or []}
        if CONFIG not in sizes:
            raise CheckpointFolderError(f"{repository_name} has no {CONFIG}; it is not a checkpoint")
        large = [name for name, size in sorted(sizes.items()) if size > LARGEST_FILE and name != WEIGHTS]
        if large:
            raise CheckpointFolderError(
                f"{repository_name} holds {join_first_names(large)}, larger than {LARGEST_FILE:,} bytes"
            )
        try:
            api.hf_hub_download(repo_id, CONFIG, revision=repository.sha, local_dir=folder)
            check_file_names(sizes, read_architecture(folder)[0], repository_name)
            for name in sizes.keys() - {CONFIG, WEIGHTS}:
                api.hf_hub_download(repo_id, name, revision=repository.sha, local_dir=folder)
            _download_safetensors_header(
                hf_hub_url(repo_id, WEIGHTS, revision=repository.sha), sizes[WEIGHTS], folder / WEIGHTS
            )
            check_checkpoint_files(folder, read_tensor_shapes(folder / WEIGHTS))
        except CheckpointFolderError as error:
            raise CheckpointFolderError(str(error).replace(str(folder), repository_name)) from error
        return _verify_folder(repository_name, folder)


def _verify_folder(name: str, folder: Path) -> VerifiedCheckpoint:
    """Return what is known of a checkpoint folder: whether it has code, and of which release."""
    return VerifiedCheckpoint(name, has_packed_code(folder), parse_release((folder / CARD).read_text(encoding="utf-8")))


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
        # The HTTP library below the client differs between its versions; its errors share no base with ours.
        if not isinstance(error, ConnectionError) and type(error).__module__.split(".")[0] not in _HTTP_LIBRARIES:
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
