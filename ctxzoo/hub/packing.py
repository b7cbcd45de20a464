"""The code of a checkpoint folder, with which it loads where ctxzoo is not installed: added, or removed.

A folder without code holds weights, configuration, tokenizer and card, and loads with ctxzoo. A packed folder also
holds the files of the package that its model needs, named by its configuration and tokenizer, and its card lists the
hashes of all files but the scores and itself.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxzoo.data.files import atomic_folder, refuse_filled_folder
from ctxzoo.hub.card_parts import describe_release, format_card_table, replace_code_section
from ctxzoo.hub.folder_checks import build_code_references, check_checkpoint_folder, find_head_class, read_architecture
from ctxzoo.hub.folder_files import (
    CARD,
    CODE_FILE,
    CONFIG,
    HUB_FILES,
    REFERENCES,
    SCORE_FILE,
    TOKENIZER_FILES,
    CheckpointFolderError,
    check_file_names,
    compute_sha256,
    list_checkpoint_files,
    list_code_files,
    read_json_object,
)

WITHOUT_CODE = (
    "This folder holds no code: it loads where ctxzoo is installed. `ctxzoo pack FOLDER OUT` writes a packed one,\n"
    "which holds the code too and loads without ctxzoo; `ctxzoo push` sends that form. `ctxzoo verify FOLDER` tells\n"
    "them apart."
)
PACKED = (
    "The Python files are those of that release, byte for byte. `ctxzoo verify FOLDER` or `ctxzoo verify USER/NAME`\n"
    "compares them with an installed one before they are trusted, and all files with this list."
)
HASH_DIGITS = 16  # of a SHA-256, in the card


@dataclass(frozen=True)
class AddedCode:
    """The code that packing added to a folder.

    Attributes:
        files: Number of code files that were packed.
        lines: Number of lines of these code files.
    """

    files: int
    lines: int


def pack(folder: str | Path, out: str | Path) -> AddedCode:
    """Write a copy of a checkpoint folder with the code that it needs to load where ctxzoo is not installed.

    Code that the folder holds already is not copied: that of the installed release takes its place.

    Args:
        folder: Checkpoint folder to copy; code that it already holds is replaced.
        out: Folder to write, empty or missing; it appears only when it is complete.

    Returns:
        What was added.

    Raises:
        FileExistsError: `out` holds something, or is a file.
        ValueError: `out` lies in `folder`.
        CheckpointFolderError: `folder` is no checkpoint folder, lacks a file, or holds others than those of one; its
            files do not fit each other, or not this release.
    """
    folder, out = Path(folder), Path(out)
    refuse_filled_folder(out, "the packed folder")
    architecture, _ = read_architecture(folder)
    if folder.resolve() in out.resolve().parents:
        raise ValueError(f"{out} lies in {folder}, which would then be no checkpoint folder; choose a place outside")
    names = [name for name in list_checkpoint_files(folder) if not CODE_FILE.fullmatch(name)]
    check_file_names(names, architecture, str(folder))
    with atomic_folder(out) as temporary:
        copy_files(folder, [name for name in names if name not in HUB_FILES], temporary)
        try:
            packed = add_code_files(temporary)
            check_checkpoint_folder(temporary)
        except CheckpointFolderError as error:
            raise CheckpointFolderError(str(error).replace(str(temporary), str(folder))) from error
    return packed


def copy_files(folder: Path, names: list[str], target: Path) -> None:
    """Copy the named files of a checkpoint folder into another folder; a link is copied as a link."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, target / name, follow_symlinks=False)


def add_code_files(folder: Path) -> AddedCode:
    """Add the code of the installed release to a checkpoint folder, and the references to it."""
    architecture, content = read_architecture(folder)
    files = list_code_files(architecture)
    for name, source in files.items():
        shutil.copyfile(source, folder / name)
    for name, entries in build_code_references(architecture, find_head_class(architecture, content, folder)).items():
        _write_code_references(folder / name, entries)
    others = {CARD, *HUB_FILES}
    listed = [name for name in list_checkpoint_files(folder) if name not in others and not SCORE_FILE.fullmatch(name)]
    hashes = {name: compute_sha256(folder / name) for name in listed}
    _rewrite_card(folder, add_code_section((folder / CARD).read_text(encoding="utf-8"), hashes))
    return AddedCode(len(files), sum(path.read_text(encoding="utf-8").count("\n") for path in files.values()))


def remove_code_files(folder: Path) -> None:
    """Remove the code from a checkpoint folder, and the references to it."""
    for name in list_checkpoint_files(folder):
        if CODE_FILE.fullmatch(name):
            (folder / name).unlink()
    for name in (CONFIG, TOKENIZER_FILES[1]):
        if (folder / name).is_file():
            _write_code_references(folder / name, {})
    _rewrite_card(folder, remove_code_section((folder / CARD).read_text(encoding="utf-8")))


def add_code_section(card: str, hashes: Mapping[str, str]) -> str:
    """Return a card whose section on code, if it has one, names the release and the hashes of files.

    Args:
        card: Text of a card.
        hashes: SHA-256 in hex by the name of a file.
    """
    rows = [[name, f"`{digits[:HASH_DIGITS]}`"] for name, digits in hashes.items()]
    table = format_card_table(["file", "sha256, first digits"], rows)
    return replace_code_section(card, f"{describe_release()} {PACKED}\n\n{table}")


def remove_code_section(card: str) -> str:
    """Return a card whose section on code, if it has one, says that the folder holds none."""
    return replace_code_section(card, WITHOUT_CODE)


def _rewrite_card(folder: Path, card: str) -> None:
    """Write the text of the card into the folder."""
    (folder / CARD).write_text(card, encoding="utf-8")


def _write_code_references(file: Path, entries: Mapping[str, Any]) -> None:
    """Replace the references to code in a JSON file, in the format of transformers."""
    content = read_json_object(file)
    in_order = json.loads(json.dumps(entries, sort_keys=True))
    changed = {name: value for name, value in content.items() if name not in REFERENCES} | in_order
    if changed != content:
        # What stands there keeps its order within: transformers sorts labels by number, which JSON writes as texts.
        text = json.dumps(dict(sorted(changed.items())), indent=2, ensure_ascii=file.name == CONFIG)
        file.write_text(f"{text}\n", encoding="utf-8")
