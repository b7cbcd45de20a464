"""Reads texts to ask a model about: one a line."""

from __future__ import annotations

from pathlib import Path

from ctxzoo.data.json_lines import json_object
from ctxzoo.data.utf8_text import read_utf8

NOT_LINES = (".csv", ".tsv", ".json", ".parquet")  # their lines are no texts


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
