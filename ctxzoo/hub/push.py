"""A checkpoint folder onto the Hub, in one commit."""

from __future__ import annotations

import logging
import re
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationDelete,
    HfApi,
    ModelCard,
    constants,
    get_token,
    hf_hub_download,
)
from huggingface_hub.errors import HfHubHTTPError

from ctxzoo.data.files import write_atomically
from ctxzoo.data.notices import format_error_on_one_line
from ctxzoo.hub.card import UNKNOWN, set_licence
from ctxzoo.hub.card_parts import set_repo_id
from ctxzoo.hub.folder_checks import check_checkpoint_folder
from ctxzoo.hub.folder_files import (
    CARD,
    CODE_FILE,
    CONFIG,
    HUB_FILES,
    SCORE_FILE,
    TOKENIZER_FILES,
    WEIGHTS,
    CheckpointFolderError,
    has_packed_code,
    join_first_names,
    read_json_object,
)
from ctxzoo.hub.listing import describe_listing_differences, list_repository_files
from ctxzoo.hub.packing import add_code_files, copy_files, remove_code_section
from ctxzoo.hub.repository import HubError, convert_request_errors, is_connection_error
from ctxzoo.models.registration import MODEL_TYPE_PREFIX

logger = logging.getLogger(__name__)

_REPO_ID = re.compile(r"[\w.-]+/[\w.-]+")
WRITTEN = frozenset({CONFIG, WEIGHTS, CARD, *TOKENIZER_FILES})
TRIES = 3  # of a commit to a Hub that does not answer, or fails itself


def push_folder(
    folder: str | Path,
    repo_id: str,
    *,
    private: bool = False,
    revision: str | None = None,
    tag: str | None = None,
    message: str | None = None,
    replace: bool = False,
    licence: str | None = None,
    language: Sequence[str] = (),
) -> str:
    """Check a checkpoint folder and upload it as one commit; the repository then holds these files and no others.

    A copy of the folder is checked, and the copy is sent: what changes in the folder meanwhile is not. The copy of a
    folder without code gets the code of this release (see `packing`). The repository is made where it is missing. What
    the Hub then lists, sizes and hashes, is compared with what was sent. The snippets of the card in the folder get the
    repository's name, so that its card and that of the repository differ in what they say of the code alone. Of a
    checkpoint of a user's own data a warning says what of the data it holds.

    Args:
        folder: Checkpoint folder, written by `write_checkpoint_folder`.
        repo_id: Repository on the Hub, "user-or-organisation/name".
        private: Whether a repository that is created is private; an existing one stays as it is.
        revision: Branch to push to, created where it is missing; default: the main branch.
        tag: Name for the commit, a new one, by which it can be loaded later; default: none.
        message: Commit message.
        replace: Whether files of the repository that ctxzoo did not write may be deleted.
        licence, language: Licence of the weights and language of the texts for the card; default: those that it names
            already.

    Returns:
        URL of the commit (of the last one, if nothing had changed).

    Raises:
        CheckpointFolderError: the folder is not fit to be published; nothing is sent.
        ValueError: `repo_id` is no repository's name.
        FileExistsError: the repository holds something that no ctxzoo wrote, or has that tag; nothing is sent.
        HubError: no token, no network, no permission, or another refusal; something else was committed meanwhile; what
            the Hub lists is not what was sent.
    """
    folder = Path(folder)
    packed = has_packed_code(folder)
    with _make_packed_copy(folder) as (copy, files):
        if not _REPO_ID.fullmatch(repo_id):
            raise ValueError(f"{repo_id!r} is no repository; expected user-or-organisation/name")
        if get_token() is None:
            raise HubError(
                "no Hub token: log in with `hf auth login`, or set HF_TOKEN to a token that may write to " + repo_id
            )
        card = (copy / CARD).read_text(encoding="utf-8")
        if licence is not None or language:
            card = set_licence(card, licence, language)
        for note in describe_private_data(copy, card):
            logger.warning("before %s is pushed to %s: %s", folder, repo_id, note)
        api = HfApi()
        with _explain_upload_errors(repo_id):
            api.create_repo(repo_id, private=private, exist_ok=True)
            if revision is not None:
                api.create_branch(repo_id, branch=revision, exist_ok=True)
            if tag is not None:
                _check_tag_is_new(api, repo_id, tag)
            head = api.model_info(repo_id, revision=revision)
            remote_names = [file.rfilename for file in head.siblings or []]
            if not replace:
                _check_repository_is_ctxzoo(repo_id, head.sha, remote_names)
            named_card = set_repo_id(card, repo_id)
            (copy / CARD).write_text(named_card, encoding="utf-8")
            upload_names = [name for name in files if name not in HUB_FILES]
            left_behind = [name for name in remote_names if name not in {*upload_names, *HUB_FILES}]
            commit = _create_commit(
                api,
                repo_id,
                [
                    *(CommitOperationAdd(name, copy / name) for name in upload_names),
                    *(CommitOperationDelete(name, is_folder=False) for name in left_behind),
                ],
                revision=revision,
                message=message or f"Upload {folder.name} with ctxzoo",
                parent=str(head.sha),
            )
            _check_arrival(api, repo_id, commit, copy, upload_names)
            write_atomically(folder / CARD, (named_card if packed else remove_code_section(named_card)).encode())
            if tag is not None:
                api.create_tag(repo_id, tag=tag, revision=commit)
    return f"{constants.ENDPOINT}/{repo_id}/commit/{commit}"


def _create_commit(
    api: HfApi,
    repo_id: str,
    operations: Sequence[CommitOperationAdd | CommitOperationDelete],
    *,
    revision: str | None,
    message: str,
    parent: str,
) -> str:
    """Return the id of a commit with these operations, whose parent is the commit that was looked at.

    Where the Hub fails it is tried again; a commit whose answer alone was lost counts.
    """
    for trial in range(TRIES):
        try:
            return api.create_commit(
                repo_id, operations, commit_message=message, revision=revision, parent_commit=parent
            ).oid
        except Exception as error:
            failed = isinstance(error, HfHubHTTPError) and error.response.status_code >= 500
            if trial == TRIES - 1 or not (failed or is_connection_error(error)):
                raise
        time.sleep(2**trial)
        head = api.model_info(repo_id, revision=revision)
        if head.sha != parent:
            return str(head.sha)
    raise AssertionError("the last trial returns or raises")


def _check_arrival(api: HfApi, repo_id: str, commit: str, folder: Path, names: Collection[str]) -> None:
    """Raise HubError unless the Hub lists the files of a folder, and no others, in a commit."""
    listed = list_repository_files(api.model_info(repo_id, revision=commit, files_metadata=True))
    differences = describe_listing_differences(folder, names, listed)
    differences += [f"{name} is there too" for name in listed if name not in {*names, *HUB_FILES}]
    if differences:
        raise HubError(
            f"{repo_id}@{commit} is not what was sent: {join_first_names(differences, '; ')}; push again, and if it "
            "stays so, delete that file or the repository on the Hub first"
        )


def _check_tag_is_new(api: HfApi, repo_id: str, tag: str) -> None:
    """Raise FileExistsError if a repository has a tag of this name."""
    found = next((one for one in api.list_repo_refs(repo_id).tags if one.name == tag), None)
    if found is not None:
        raise FileExistsError(
            f"{repo_id} has a tag {tag} already, of the commit {found.target_commit[:12]}; choose another name"
        )


@contextmanager
def _make_packed_copy(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Within a `with` block, give a temporary copy of a checkpoint folder with code, and the names of its files.

    Raises:
        CheckpointFolderError: see `check_checkpoint_folder`.
    """
    names = check_checkpoint_folder(folder)
    with tempfile.TemporaryDirectory(prefix=f".{folder.absolute().name}-push-", dir=folder.absolute().parent) as place:
        copy = Path(place) / folder.absolute().name
        copy_files(folder, names, copy)
        if not has_packed_code(copy):
            add_code_files(copy)
        try:
            files = check_checkpoint_folder(copy)
        except CheckpointFolderError as error:
            raise CheckpointFolderError(str(error).replace(str(copy), str(folder))) from error
        yield copy, files


def describe_private_data(folder: Path, card: str) -> list[str]:
    """Return what a checkpoint contains of the user's own data, to warn before it is uploaded.

    Args:
        folder: Checkpoint folder.
        card: Text of the model card.

    Returns:
        A line, or none where the data is one that ctxzoo knows.
    """
    if UNKNOWN not in card:
        return []
    config = read_json_object(folder / CONFIG)
    contents = [
        f"{len(config[name]):,} {name.replace('_', ' ')}" for name in config if name.endswith("_names") and config[name]
    ]
    if config.get("num_context_rows"):
        contents.append(f"{config['num_context_rows']:,} rows of the training as they are")
    if (folder / TOKENIZER_FILES[0]).is_file():
        words = read_json_object(folder / TOKENIZER_FILES[0]).get("model", {}).get("vocab", {})
        contents.append(f"{len(words):,} words of the training texts")
    card_data = ModelCard(card, ignore_metadata_errors=True).data
    missing = [name for name in ("license", "language") if not getattr(card_data, name, None)]
    opening = f"it holds {', '.join(contents)}" if contents else "it is trained on your own data"
    unnamed = f"; its card names no {' and no '.join(missing)}" if missing else ""
    return [f"{opening}{unnamed}; read the card first"]


def _check_repository_is_ctxzoo(repo_id: str, revision: str | None, files: Collection[str]) -> None:
    """Raise FileExistsError if a repository has files that neither the Hub nor a release of ctxzoo writes."""
    names = [name for name in files if name not in HUB_FILES]
    if names == [CARD]:
        card = hf_hub_download(repo_id, CARD, revision=revision)
        if not ModelCard.load(card, ignore_metadata_errors=True).text.strip():
            return  # the licence that was chosen when the repository was made
    foreign = (
        [name for name in names if not is_ctxzoo_file_name(name)]
        if _is_ctxzoo_repository(repo_id, revision, files)
        else names
    )
    if foreign:
        raise FileExistsError(
            f"{repo_id} holds {join_first_names(sorted(foreign))}, which no ctxzoo wrote and the upload would delete; "
            "choose another name (or set `replace`)"
        )


def is_ctxzoo_file_name(name: str) -> bool:
    """Return whether a file has a name that this or another release of ctxzoo writes."""
    return name in WRITTEN or CODE_FILE.fullmatch(name) is not None or SCORE_FILE.fullmatch(name) is not None


def _is_ctxzoo_repository(repo_id: str, revision: str | None, files: Collection[str]) -> bool:
    """Return whether a repository has the configuration of a ctxzoo checkpoint, of this release or another."""
    if CONFIG not in files:
        return False
    try:
        config = read_json_object(Path(hf_hub_download(repo_id, CONFIG, revision=revision)))
    except CheckpointFolderError:
        return False
    return str(config.get("model_type")).startswith(MODEL_TYPE_PREFIX)


@contextmanager
def _explain_upload_errors(repo_id: str) -> Iterator[None]:
    """Within a `with` block, turn the Hub's errors into one line that says what to do."""
    try:
        with convert_request_errors(repo_id):
            yield
    except RuntimeError as error:
        if not str(error).startswith("Error while uploading"):  # as the client says of a file
            raise
        cause = "" if error.__cause__ is None else f" ({format_error_on_one_line(error.__cause__)})"
        raise HubError(
            f"{str(error).rstrip('.')}{cause}; {repo_id} is as it was: push again, and what has arrived whole is not "
            "sent twice"
        ) from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        reason = error.server_message or format_error_on_one_line(error)
        if status == 401:
            raise HubError(
                f"the Hub did not accept the token ({reason}); log in again with `hf auth login` or renew HF_TOKEN"
            ) from error
        if status == 403:
            raise HubError(
                f"the token may not write to {repo_id} ({reason}); use one with write access to that namespace"
            ) from error
        if status in (409, 412):
            raise HubError(
                f"{repo_id} was changed while this was sent ({reason}), and is as that change left it; look at it, and "
                "push again"
            ) from error
        advice = "; try again later" if status >= 500 else ""
        raise HubError(f"the Hub refused the upload to {repo_id} with status {status}: {reason}{advice}") from error
