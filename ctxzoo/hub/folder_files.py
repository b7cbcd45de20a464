"""Which files a checkpoint folder has, these and no others, so that nothing else is published or trusted."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers.dynamic_module_utils import get_relative_import_files

from ctxzoo.models import Architecture
from ctxzoo.models.tokenization_base import ENCODER_TOKENIZER

CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
ENCODER_FILES = (ENCODER_TOKENIZER,)  # of models whose words an encoder reads
SCORES = ".eval_results"
HUB_FILES = frozenset({".gitattributes"})  # the Hub adds it to every repository, and keeps its own
NAMES_SHOWN = 5
SCORE_FILE = re.compile(rf"{re.escape(SCORES)}/[\w.-]+--[\w.-]+\.yaml")
# Of this release and of others, whose architectures may have other names.
CODE_FILE = re.compile(r"(configuration|modeling|tokenization|layers|ops|pipeline)_\w+\.py")
REFERENCES = ("auto_map", "custom_pipelines")  # entries of a JSON file that name code beside it
LARGEST_JSON = 2**24  # bytes; ten thousand labels take less than one tenth of it


class CheckpointFolderError(ValueError):
    """A folder is not a whole checkpoint of the zoo; the message says what is missing or wrong."""


def drop_unused_tokenizer(architecture: Architecture, fields: Mapping[str, object]) -> Architecture:
    """Return the architecture, without its tokenizer if this configuration reads no words.

    Args:
        architecture: Architecture of the checkpoint.
        fields: Fields of its configuration, by name. With a `vocab_size` of 0 the model has no table of words.
    """
    return replace(architecture, tokenizer_class=None) if fields.get("vocab_size") == 0 else architecture


def list_code_files(architecture: Architecture) -> dict[str, Path]:
    """Return the installed source files, by name, that loading needs where ctxzoo is not installed.

    That is the closure of the dotted imports of the configuration, models, tokenizer and pipelines, which transformers
    copies when it saves.
    """
    classes: list[type[Any]] = [
        architecture.config_class,
        *architecture.model_classes.values(),
        *architecture.pipeline_classes.values(),
    ]
    if architecture.tokenizer_class is not None:
        classes.append(architecture.tokenizer_class)
    roots = {inspect.getfile(cls) for cls in classes}
    paths = {Path(file) for root in roots for file in (root, *get_relative_import_files(root))}
    return {path.name: path for path in sorted(paths)}


def describe_code_differences(folder: Path, architecture: Architecture) -> list[str]:
    """Describe how the code in a checkpoint differs from that of the installed release; empty if it does not."""
    released = list_code_files(architecture)
    differences = [f"{name} is missing" for name in released if not (folder / name).exists()]
    for name, path in released.items():
        carried = folder / name
        if carried.exists() and carried.read_bytes() != path.read_bytes():
            differences.append(
                f"{name} differs (sha256 {compute_sha256(carried)[:12]}, released {compute_sha256(path)[:12]})"
            )
    return differences


def has_packed_code(folder: Path) -> bool:
    """Return whether a checkpoint folder holds code, or a JSON file of it names some."""
    if any(folder.glob("*.py")):
        return True
    files = [folder / name for name in (CONFIG, TOKENIZER_FILES[1])]
    return any(name in read_json_object(file) for file in files if file.is_file() for name in REFERENCES)


def compute_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def list_checkpoint_files(folder: Path) -> list[str]:
    """Return the sorted relative paths of a folder's files and of those in its `.eval_results/`; none is read.

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
    _raise_unexpected_files(refused, str(folder))
    return sorted(files)


def check_file_names(names: Iterable[str], architecture: Architecture, source: str) -> None:
    """Raise an error unless the names are those of a checkpoint's files: all that it needs, and no others.

    Args:
        names: Paths within the folder or repository.
        architecture: Architecture of the checkpoint.
        source: Name of the folder or repository in messages.

    Raises:
        CheckpointFolderError: files that are no part of a checkpoint, or files missing (each is named). What is missing
            of the code is for `describe_code_differences` to say.
    """
    required_names = [CONFIG, WEIGHTS, CARD, *(TOKENIZER_FILES if architecture.tokenizer_class is not None else ())]
    allowed_names = {*required_names, *HUB_FILES, *list_code_files(architecture)}
    if architecture.tokenizer_class is not None:
        allowed_names |= {*ENCODER_FILES}
    names = sorted(names)
    _raise_unexpected_files(
        [name for name in names if name not in allowed_names and not SCORE_FILE.fullmatch(name)], source
    )
    _raise_missing_files([name for name in required_names if name not in names], source)


def check_files_exist(folder: Path, names: Iterable[str]) -> None:
    """Raise CheckpointFolderError unless the named files are there."""
    _raise_missing_files([name for name in names if not (folder / name).is_file()], str(folder))


def join_first_names(names: list[str], separator: str = ", ") -> str:
    """Return the first names of a list, and how many more there are."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return separator.join(names[:NAMES_SHOWN]) + more


def read_json_object(file: Path) -> dict[str, Any]:
    """Return the object that a JSON file of a checkpoint holds.

    Raises:
        CheckpointFolderError: it is too large or nested too deeply, no JSON, or another JSON value.
    """
    if file.stat().st_size > LARGEST_JSON:
        raise CheckpointFolderError(
            f"{file} has {file.stat().st_size:,} bytes; expected at most {LARGEST_JSON:,}; no checkpoint has such"
        )
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise CheckpointFolderError(f"{file} is nested too deeply; copy or save the checkpoint again") from error
    except ValueError as error:
        raise CheckpointFolderError(f"{file} is not JSON ({error}); copy or save the checkpoint again") from error
    if not isinstance(content, dict):
        raise CheckpointFolderError(f"{file} holds a {type(content).__name__}; expected a JSON object")
    return content


def _raise_unexpected_files(names: list[str], source: str) -> None:
    """Raise CheckpointFolderError if there are such names; `source` is the folder or repository."""
    if names:
        raise CheckpointFolderError(
            f"{source} holds {join_first_names(sorted(names))}, which checkpoints of this release do not have; move it "
            "away, or use the ctxzoo release that the checkpoint was saved with"
        )


def _raise_missing_files(names: list[str], source: str) -> None:
    """Raise CheckpointFolderError if there are such names; `source` is the folder or repository."""
    if names == [CARD]:
        raise CheckpointFolderError(
            f"{source} lacks its card, {CARD}; write what the model does, what it was trained on and how it scores"
        )
    if names:
        raise CheckpointFolderError(
            f"{source} lacks {', '.join(names)}; write it whole with write_checkpoint_folder, or copy it again"
        )
