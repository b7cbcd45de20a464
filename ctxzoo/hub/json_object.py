"""JSON files of strangers: an object, or one line that says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ctxzoo.hub.folder_files import CheckpointFolderError

LARGEST_JSON = 2**24  # bytes; ten thousand labels take less than one tenth of it


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
