"""A repository of the Hub, checked before any of its code is run, and without downloading its weights."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from huggingface_hub import HfApi, get_session, hf_hub_url
from huggingface_hub.utils import (  # type: ignore[attr-defined, unused-ignore]
    build_hf_headers,
    hf_raise_for_status,
)

from ctxzoo.data.files import refuse_missing_path
from ctxzoo.hub.card_release import release_of
from ctxzoo.hub.folder_checks import check_checkpoint_folder, check_content, read_architecture, read_shapes
from ctxzoo.hub.folder_files import CARD, CONFIG, WEIGHTS, CheckpointFolderError, check_names, some_of
from ctxzoo.hub.hub_errors import reading

LARGEST_FILE = 2**27  # bytes of a file beside the weights, and of the head of these
_REPOSITORY = re.compile(r"(?P<repo_id>[\w.-]+/[\w.-]+)(?:@(?P<revision>\S+))?")


def verify(checkpoint: str) -> tuple[str, str | None]:
    """Check a checkpoint: a folder, or a repository `user/name` or `user/name@revision`.

    Returns:
        What was checked, a repository with its commit; and the release that its card names, if any.

    Raises:
        CheckpointFolderError: see `check_checkpoint_folder`.
        OSError: the Hub cannot be reached, or has no such repository or revision.
    """
    named = _REPOSITORY.fullmatch(checkpoint)
    if named is None:
        refuse_missing_path(checkpoint, "checkpoint")
    if named is None or Path(checkpoint).exists():
        check_checkpoint_folder(checkpoint)
        return checkpoint, release_of((Path(checkpoint) / CARD).read_text(encoding="utf-8"))
    return check_repository(named["repo_id"], named["revision"])


def check_repository(repo_id: str, revision: str | None = None) -> tuple[str, str | None]:
    """Check a repository as `verify` does: its list of files, their content, the names and shapes of its weights.

    Returns:
        `user/name@commit`, and the release that its card names, if any.

    Raises:
        CheckpointFolderError, OSError: see `verify`.
    """
    api = HfApi()
    with reading(repo_id), tempfile.TemporaryDirectory() as temporary:
        found = api.model_info(repo_id, revision=revision, files_metadata=True)
        where, folder = f"{repo_id}@{found.sha}", Path(temporary)
        sizes = {file.rfilename: file.size or 0 for file in found.siblings or []}
        if CONFIG not in sizes:
            raise CheckpointFolderError(f"{where} has no {CONFIG}; it is not a checkpoint")
        large = [name for name, size in sorted(sizes.items()) if size > LARGEST_FILE and name != WEIGHTS]
        if large:
            raise CheckpointFolderError(f"{where} holds {some_of(large)}, larger than {LARGEST_FILE:,} bytes")
        try:
            api.hf_hub_download(repo_id, CONFIG, revision=found.sha, local_dir=folder)
            check_names(sizes, read_architecture(folder)[0], where)
            for name in sizes.keys() - {CONFIG, WEIGHTS}:
                api.hf_hub_download(repo_id, name, revision=found.sha, local_dir=folder)
            _fetch_head(hf_hub_url(repo_id, WEIGHTS, revision=found.sha), sizes[WEIGHTS], folder / WEIGHTS)
            check_content(folder, read_shapes(folder / WEIGHTS))
        except CheckpointFolderError as error:
            raise CheckpointFolderError(str(error).replace(str(folder), where)) from error
        return where, release_of((folder / CARD).read_text(encoding="utf-8"))


def _fetch_head(url: str, size: int, file: Path) -> None:
    """Write the head of a safetensors file, then a hole for its numbers: `read_shapes` reads it like the whole file."""
    length = int.from_bytes(_bytes_of(url, 0, 8), "little")
    if not 0 < length <= min(LARGEST_FILE, size - 8):
        raise CheckpointFolderError(f"{file} is damaged or incomplete (a head of {length} bytes in {size})")
    with file.open("wb") as stream:
        stream.write(_bytes_of(url, 0, 8 + length))
        stream.truncate(size)


def _bytes_of(url: str, start: int, end: int) -> bytes:
    answer = get_session().get(url, headers={**build_hf_headers(), "Range": f"bytes={start}-{end - 1}"})
    hf_raise_for_status(answer)
    return bytes(answer.content[: end - start])
