"""The Hub client's errors as one line that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from huggingface_hub import constants
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from ctxzoo.data.notices import on_one_line

_HTTP_LIBRARIES = ("httpx", "httpx2", "httpcore", "requests")


class HubError(OSError):
    """The Hub could not be reached or refused; the message says why and what to do."""


@contextmanager
def reaching(repo_id: str) -> Iterator[None]:
    """Turn the errors of a request without an answer into `HubError`; refusals pass through as `HfHubHTTPError`."""
    try:
        yield
    except HFValidationError as error:
        raise ValueError(f"{repo_id!r} is no repository: {on_one_line(error)}") from error
    except OfflineModeIsEnabled as error:
        raise HubError("the Hub client is in offline mode; unset HF_HUB_OFFLINE to reach the Hub") from error
    except (HfHubHTTPError, EntryNotFoundError):
        raise
    except Exception as error:
        # The HTTP library below the client differs between its versions; its errors share no base with ours.
        if not isinstance(error, ConnectionError) and type(error).__module__.split(".")[0] not in _HTTP_LIBRARIES:
            raise
        raise HubError(
            f"the Hub at {constants.ENDPOINT} cannot be reached ({on_one_line(error)}); check the network"
        ) from error


@contextmanager
def reading(repo_id: str) -> Iterator[None]:
    """Turn every error of a download into `HubError`, or ValueError where `repo_id` is no repository's name."""
    try:
        with reaching(repo_id):
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
        raise HubError(f"{repo_id} lacks a file of a ctxzoo checkpoint: {on_one_line(error)}") from error
    except HfHubHTTPError as error:
        said = error.server_message or on_one_line(error)
        raise HubError(f"the Hub refused {repo_id} with status {error.response.status_code}: {said}") from error
