"""Which source files travel with a checkpoint, and whether a folder holds them as this release has them."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path
from typing import Any

from transformers.dynamic_module_utils import get_relative_import_files

from ctxzoo.models import Architecture


def travelling_files(architecture: Architecture) -> dict[str, Path]:
    """Return file name to the installed file, sorted: all that loading needs where ctxzoo is not installed.

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


def code_differences(folder: Path, architecture: Architecture) -> list[str]:
    """Say how the code that a checkpoint carries differs from the installed release's; empty if not at all."""
    released = travelling_files(architecture)
    differences = [f"{name} is missing" for name in released if not (folder / name).exists()]
    for name, path in released.items():
        found = folder / name
        if found.exists() and found.read_bytes() != path.read_bytes():
            differences.append(f"{name} differs (sha256 {sha256(found)[:12]}, released {sha256(path)[:12]})")
    return differences


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
