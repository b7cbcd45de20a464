"""A checkpoint folder onto the Hub, in one commit."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationDelete,
    HfApi,
    ModelCard,
    get_token,
    hf_hub_download,
)
from huggingface_hub.errors import HfHubHTTPError

from ctxzoo.data.files import write_atomically
from ctxzoo.data.notices import on_one_line
from ctxzoo.hub.card_parts import with_repo_id
from ctxzoo.hub.folder_checks import check_checkpoint_folder
from ctxzoo.hub.folder_files import CARD, CONFIG, HUB_FILES, CheckpointFolderError, read_json_object, some_of
from ctxzoo.hub.repository import HubError, reaching
from ctxzoo.models.registration import MODEL_TYPE_PREFIX

_REPO_ID = re.compile(r"[\w.-]+/[\w.-]+")


def push_folder(
    folder: str | Path,
    repo_id: str,
    *,
    private: bool = False,
    revision: str | None = None,
    message: str | None = None,
    replace: bool = False,
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
        replace: whether the files of a repository that holds something else may be deleted.

    Returns:
        URL of the commit (of the last one, if nothing had changed).

    Raises:
        CheckpointFolderError: the folder is not fit to be published; nothing is sent.
        ValueError: `repo_id` is no repository's name.
        FileExistsError: the repository is neither empty nor one of ctxzoo; nothing is sent.
        HubError: no token, no network, no permission, or another refusal.
    """
    folder = Path(folder)
    files = check_checkpoint_folder(folder)
    if not _REPO_ID.fullmatch(repo_id):
        raise ValueError(f"{repo_id!r} is no repository; expected user-or-organisation/name")
    if get_token() is None:
        raise HubError(
            "no Hub token: log in with `hf auth login`, or set HF_TOKEN to a token that may write to " + repo_id
        )
    api = HfApi()
    with _explained(repo_id):
        api.create_repo(repo_id, private=private, exist_ok=True)
        if revision is not None:
            api.create_branch(repo_id, branch=revision, exist_ok=True)
        head = api.model_info(repo_id, revision=revision)
        there = [file.rfilename for file in head.siblings or []]
        if not replace:
            _refuse_foreign(repo_id, head.sha, there)
        card = folder / CARD
        write_atomically(card, with_repo_id(card.read_text(encoding="utf-8"), repo_id).encode())
        ours = [name for name in files if name not in HUB_FILES]
        left_behind = [name for name in there if name not in {*ours, *HUB_FILES}]
        commit = api.create_commit(
            repo_id,
            [
                *(CommitOperationAdd(name, folder / name) for name in ours),
                *(CommitOperationDelete(name, is_folder=False) for name in left_behind),
            ],
            revision=revision,
            commit_message=message or f"Upload {folder.name} with ctxzoo",
            parent_commit=head.sha,  # what is deleted is what was looked at
        )
    return str(commit.commit_url)


def _refuse_foreign(repo_id: str, revision: str | None, files: Collection[str]) -> None:
    """Raise FileExistsError unless a repository is as the Hub makes it, or holds a checkpoint of ours."""
    others = [name for name in files if name not in HUB_FILES]
    if others == [CARD]:
        card = hf_hub_download(repo_id, CARD, revision=revision)
        if not ModelCard.load(card, ignore_metadata_errors=True).text.strip():
            return  # the licence that was chosen when the repository was made
    if not others or _is_ours(repo_id, revision, files):
        return
    raise FileExistsError(
        f"{repo_id} holds no ctxzoo checkpoint but {some_of(sorted(others))}, which the upload would delete; choose "
        "another name (or set `replace`)"
    )


def _is_ours(repo_id: str, revision: str | None, files: Collection[str]) -> bool:
    """Return whether a repository has the configuration of a ctxzoo checkpoint, of this release or another."""
    if CONFIG not in files:
        return False
    try:
        config = read_json_object(Path(hf_hub_download(repo_id, CONFIG, revision=revision)))
    except CheckpointFolderError:
        return False
    return str(config.get("model_type")).startswith(MODEL_TYPE_PREFIX)


@contextmanager
def _explained(repo_id: str) -> Iterator[None]:
    """Turn refusals of an upload into one line that says what to do."""
    try:
        with reaching(repo_id):
            yield
    except HfHubHTTPError as error:
        status = error.response.status_code
        said = error.server_message or on_one_line(error)
        if status == 401:
            raise HubError(
                f"the Hub did not accept the token ({said}); log in again with `hf auth login` or renew HF_TOKEN"
            ) from error
        if status == 403:
            raise HubError(
                f"the token may not write to {repo_id} ({said}); use one with write access to that namespace"
            ) from error
        raise HubError(f"the Hub refused the upload to {repo_id} with status {status}: {said}") from error
