"""A checkpoint folder onto the Hub, in one commit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub import HfApi, constants, get_token
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

from ctxzoo.evaluation.results import write_atomically
from ctxzoo.hub.card_snippets import with_repo_id
from ctxzoo.hub.folder_checks import CARD, check_checkpoint_folder

_REPO_ID = re.compile(r"[\w.-]+/[\w.-]+")
_HTTP_LIBRARIES = ("httpx", "httpx2", "httpcore", "requests")


class PushError(OSError):
    """The Hub could not be reached or refused; the message says why and what to do."""


def push_folder(
    folder: str | Path,
    repo_id: str,
    *,
    private: bool = False,
    revision: str | None = None,
    message: str | None = None,
) -> str:
    """Check a checkpoint folder and upload it as one commit; the repository then holds these files and no others.

    The repository is made where it is missing. The snippets of the card in the folder get the repository's name, so
    that folder and repository stay equal.

    Args:
        folder: from `write_checkpoint_folder`.
        repo_id: "user-or-organisation/name".
        private: whether a new repository is private; an old one stays what it is.
        revision: branch, made where it is missing; default the main one.
        message: of the commit.

    Returns:
        URL of the commit (of the last one, if nothing had changed).

    Raises:
        CheckpointFolderError: the folder is not fit to be published; nothing is sent.
        ValueError: `repo_id` is no repository's name.
        PushError: no token, no network, no permission, or another refusal.
    """
    folder = Path(folder)
    check_checkpoint_folder(folder)
    if not _REPO_ID.fullmatch(repo_id):
        raise ValueError(f"{repo_id!r} is no repository; expected user-or-organisation/name")
    if get_token() is None:
        raise PushError(
            "no Hub token: log in with `hf auth login`, or set HF_TOKEN to a token that may write to " + repo_id
        )
    api = HfApi()
    with _explained(repo_id):
        api.create_repo(repo_id, private=private, exist_ok=True)
        if revision is not None:
            api.create_branch(repo_id, branch=revision, exist_ok=True)
        card = folder / CARD
        write_atomically(card, with_repo_id(card.read_text(encoding="utf-8"), repo_id).encode())
        commit = api.upload_folder(
            repo_id=repo_id,
            folder_path=os.fspath(folder),
            revision=revision,
            commit_message=message or f"Upload {folder.name} with ctxzoo",
            delete_patterns="*",  # what an earlier upload left behind; files that are uploaded again are not deleted
        )
    return str(commit.commit_url)


@contextmanager
def _explained(repo_id: str) -> Iterator[None]:
    """Turns the client's errors into one line that says what to do."""
    try:
        yield
    except HFValidationError as error:
        raise ValueError(f"{repo_id!r} is no repository: {' '.join(str(error).split())}") from error
    except OfflineModeIsEnabled as error:
        raise PushError("the Hub client is in offline mode; unset HF_HUB_OFFLINE to push") from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        said = error.server_message or " ".join(str(error).split())
        if status == 401:
            raise PushError(
                f"the Hub did not accept the token ({said}); log in again with `hf auth login` or renew HF_TOKEN"
            ) from error
        if status == 403:
            raise PushError(
                f"the token may not write to {repo_id} ({said}); use one with write access to that namespace"
            ) from error
        raise PushError(f"the Hub refused the upload to {repo_id} with status {status}: {said}") from error
    except Exception as error:
        # The HTTP library below the client differs between its versions; its errors share no base with ours.
        if not isinstance(error, ConnectionError) and type(error).__module__.split(".")[0] not in _HTTP_LIBRARIES:
            raise
        raise PushError(
            f"the Hub at {constants.ENDPOINT} cannot be reached ({' '.join(str(error).split())}); check the network"
        ) from error
