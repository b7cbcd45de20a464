"""Reading files of text: UTF-8, one text a line, a JSON object on each line; errors name the line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ctxzoo.data.sources import DatasetFileError

NOT_LINES = (".csv", ".tsv", ".json", ".parquet")  # their lines are no texts


def read_utf8(file: Path) -> str:
    """Return the text of a file, without a byte order mark.

    Raises:
        DatasetFileError: it is not UTF-8; the message names the position of the byte.
        OSError: it cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetFileError(f"{file}: not UTF-8 text at byte {error.start}; save it as UTF-8") from error


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


def read_text_lines(file: Path) -> list[str]:
    """Return the texts of a file: one a line, or in a .jsonl file the field `text` of the object on each line.

    Raises:
        FileNotFoundError: no such file.
        DatasetFileError: not UTF-8, or a line is not JSON or no object.
        ValueError: a file of another kind, no text at all, a line that is empty, or an object without a text.
    """
    if not file.is_file():
        raise FileNotFoundError(f"no file {str(file)!r}; expected one text a line, or a .jsonl file")
    if file.suffix in NOT_LINES:
        raise ValueError(f"{file} is a {file.suffix} file; expected one text a line, or a .jsonl file")
    lines = read_utf8(file).removesuffix("\n").split("\n")
    if lines == [""]:
        raise ValueError(f"{file} holds no text")
    texts = []
    for number, line in enumerate(lines, start=1):
        where = f"{file}, line {number}"
        if not line.strip():
            raise ValueError(f"{where} is empty; remove it, every line is one text")
        texts.append(_text_of(line, where) if file.suffix == ".jsonl" else line.removesuffix("\r"))
    return texts


def _text_of(line: str, where: str) -> str:
    text = json_object(line, where).get("text")
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f'{where} is {line[:80]!r}; expected an object with the text in "text"')
    return text
