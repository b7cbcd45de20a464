"""Files with a JSON object on each line."""

from __future__ import annotations

import json
from typing import Any

from ctxzoo.data.sources import DatasetFileError


def json_object(line: str, where: str) -> dict[str, Any]:
    """Return the object that a line holds; `where` is what messages call the line.

    Raises:
        DatasetFileError: it is not JSON, no object, or holds a name twice or half a character.
    """
    try:
        content = json.loads(line, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise DatasetFileError(f"{where} is not JSON ({error}): {line[:60]!r}") from error
    if not isinstance(content, dict):
        raise DatasetFileError(f"{where} is {line[:60]!r}; expected an object such as {{...}}")
    if "\\u" in line:
        _refuse_halves(content, where)
    return content


def _refuse_halves(content: dict[str, Any], where: str) -> None:
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise DatasetFileError(f"{where} holds half a character, {error.object[error.start]!r}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise ValueError(f"{name!r} stands there twice")
        content[name] = value
    return content
