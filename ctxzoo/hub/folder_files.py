"""Which files a checkpoint folder has: these and no others, so that nothing else is published or trusted."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from ctxzoo.hub.code_files import travelling_files
from ctxzoo.models import Architecture

CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
SCORES = ".eval_results"
HUB_FILES = frozenset({".gitattributes"})  # the Hub adds it to every repository, and keeps its own
NAMES_SHOWN = 5
_SCORE_FILE = re.compile(rf"{re.escape(SCORES)}/[\w.-]+--[\w.-]+\.yaml")


class CheckpointFolderError(ValueError):
    """A folder is not a whole checkpoint of the zoo; the message says what is missing or wrong."""


def plain_files(folder: Path) -> list[str]:
    """Return the paths in a folder of its files and those of its `.eval_results/`, sorted; nothing is read.

    Raises:
        CheckpointFolderError: there is a link, another folder, or something that is no file (each is named).
    """
    files, refused = [], []
    entries = list(os.scandir(folder))
    scores = folder / SCORES
    if scores.is_dir() and not scores.is_symlink():
        entries = [entry for entry in entries if entry.name != SCORES] + list(os.scandir(scores))
    for entry in entries:
        name = Path(entry.path).relative_to(folder).as_posix()
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISREG(mode):
            files.append(name)
        else:
            kind = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "not a file"
            refused.append(f"{name} ({kind})")
    _refuse(refused, str(folder))
    return sorted(files)


def check_names(names: Iterable[str], architecture: Architecture, where: str) -> None:
    """Check that files are those of a checkpoint: all that it needs, and no others.

    Args:
        names: paths in the folder or repository.
        architecture: of the checkpoint.
        where: what messages call the folder or repository.

    Raises:
        CheckpointFolderError: files that are no part of a checkpoint, or files missing (each is named). What is missing
            of the code is for `code_files.code_differences` to say.
    """
    needed = [CONFIG, WEIGHTS, CARD, *(TOKENIZER_FILES if architecture.tokenizer_class is not None else ())]
    allowed = {*needed, *HUB_FILES, *travelling_files(architecture)}
    names = sorted(names)
    _refuse([name for name in names if name not in allowed and not _SCORE_FILE.fullmatch(name)], where)
    _refuse_missing([name for name in needed if name not in names], where)


def refuse_missing(folder: Path, names: Iterable[str]) -> None:
    """Raise CheckpointFolderError unless the named files are there."""
    _refuse_missing([name for name in names if not (folder / name).is_file()], str(folder))


def some_of(names: list[str], separator: str = ", ") -> str:
    """Return the first names of a list, and how many more there are."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return separator.join(names[:NAMES_SHOWN]) + more


def _refuse(names: list[str], where: str) -> None:
    if names:
        raise CheckpointFolderError(
            f"{where} holds {some_of(sorted(names))}, which checkpoints of this release do not have; move it away, or "
            "use the ctxzoo release that the checkpoint was saved with"
        )


def _refuse_missing(names: list[str], where: str) -> None:
    if names:
        raise CheckpointFolderError(
            f"{where} lacks {', '.join(names)}; write it whole with write_checkpoint_folder, or copy it again"
        )
