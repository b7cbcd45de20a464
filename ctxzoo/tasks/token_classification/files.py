"""Files of tagged sentences: CoNLL columns, CoNLL-U, JSON lines and Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

from ctxzoo.data.row_files import read_json_lines, read_parquet
from ctxzoo.data.sources import DatasetFileError
from ctxzoo.data.text_files import read_utf8

COLUMN_FILES = (".conll", ".bio", ".iob", ".iob2", ".txt", ".tsv")  # a word and its tag in a line
UNIVERSAL = ".conllu"
KINDS = (*COLUMN_FILES, UNIVERSAL, ".jsonl", ".parquet")
TOKENS, TAGS, DOCUMENT = "tokens", "tags", "file"  # columns
DOCUMENT_START = "-DOCSTART-"
NEW_DOCUMENT = "# newdoc"
UNIVERSAL_COLUMNS = 10
NO_VALUE = "_"


def read_tag_file(path: Path, kind: str | None = None) -> datasets.Dataset:
    """Return the sentences of a file, one a row: `tokens`, columns of tags, and `file`, the document, if it is told.

    In CoNLL files (`COLUMN_FILES`) each line holds a word, other columns, and last its tag, set apart by blanks or
    tabs; an empty line ends a sentence, and a line that begins with -DOCSTART- begins a document. In CoNLL-U files the
    tags are `upos` and, where there are any, `xpos`. The others hold the columns themselves, with lists in them.

    Args:
        path: the file.
        kind: one of `KINDS`; default: by the name.

    Raises:
        DatasetFileError: a file of another kind; not UTF-8; empty; a line with another number of columns, which is
            named.
    """
    kind = kind or path.suffix.lower()
    if kind not in KINDS:
        raise DatasetFileError(f"{path} is no {', '.join(KINDS)} file; name one, a folder, or a Hub id")
    if kind == ".parquet":
        return datasets.Dataset(datasets.table.InMemoryTable(read_parquet(path)))
    if kind == ".jsonl":
        rows = read_json_lines(path)
    else:
        lines = read_utf8(path).split("\n")
        found = (_universal_sentences if kind == UNIVERSAL else _sentences)(lines, path)
        rows = _without_empty_columns(found) if kind == UNIVERSAL else list(found)
    if not rows:
        raise DatasetFileError(f"{path} holds no sentence; expected a word and its tag in each line")
    if kind != ".jsonl" and len({row[DOCUMENT] for row in rows}) < 2:
        rows = [{name: value for name, value in row.items() if name != DOCUMENT} for row in rows]
    try:
        return datasets.Dataset.from_list(rows)
    except (pa.ArrowException, TypeError) as error:
        raise DatasetFileError(f"{path}: {error}; expected lists of words and of tags in each line") from error


def _sentences(lines: Iterable[str], path: Path) -> Iterator[dict[str, Any]]:
    words: list[str] = []
    tags: list[str] = []
    width = document = 0
    for number, line in enumerate([*lines, ""], start=1):
        columns = line.rstrip("\r").split("\t") if "\t" in line else line.split()
        if line.startswith(DOCUMENT_START):
            document += 1
            continue
        if not line.strip():
            if words:
                yield {TOKENS: words, TAGS: tags, DOCUMENT: str(document)}
                words, tags = [], []
            continue
        width = width or len(columns)
        if len(columns) < 2 or len(columns) != width:
            raise DatasetFileError(
                f"{path}, line {number}: {line[:60]!r} has {_columns(len(columns))}; expected "
                f"{'a word and its tag' if width < 2 else f'{width} as in the lines before'}, and an empty line "
                "between sentences"
            )
        words.append(columns[0].strip())
        tags.append(columns[-1].strip())


def _universal_sentences(lines: Iterable[str], path: Path) -> Iterator[dict[str, Any]]:
    rows: list[list[str]] = []
    document = 0
    for number, line in enumerate([*lines, ""], start=1):
        document += line.startswith(NEW_DOCUMENT)
        if not line.strip():
            if rows:
                words, upos, xpos = ([row[column] for row in rows] for column in (1, 3, 4))
                yield {TOKENS: words, "upos": upos, "xpos": xpos, DOCUMENT: str(document)}
                rows = []
        elif not line.startswith("#"):
            columns = line.rstrip("\r").split("\t")
            if len(columns) != UNIVERSAL_COLUMNS:
                raise DatasetFileError(
                    f"{path}, line {number}: {line[:60]!r} has {_columns(len(columns))}; expected {UNIVERSAL_COLUMNS} "
                    "set apart by tabs, as CoNLL-U has"
                )
            if columns[0].isdigit():  # others stand for several words, or for none
                rows.append(columns)


def _without_empty_columns(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out a column of tags in which nothing stands."""
    found = list(rows)
    empty = [name for name in ("upos", "xpos") if all(tag == NO_VALUE for row in found for tag in row[name])]
    return [{name: value for name, value in row.items() if name not in empty} for row in found]


def _columns(number: int) -> str:
    return "one column" if number == 1 else f"{number} columns"
