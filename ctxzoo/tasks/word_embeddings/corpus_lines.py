"""Running text, line by line, from files or datasets that may be larger than the memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ctxzoo.data.notices import format_error_reason
from ctxzoo.data.rows import iterate_column
from ctxzoo.data.sources import dataset_fingerprint, load_splits, resolve_dataset
from ctxzoo.data.text_columns import ColumnNames, join_texts, list_column_names
from ctxzoo.data.text_files import PACKED, open_unpacked
from ctxzoo.tasks.word_embeddings.sample import SAMPLE_SEED, sample_corpus

if TYPE_CHECKING:
    import datasets

BLOCK = 1 << 20  # bytes
TEXT = "text"  # usual column of a dataset
BLANKS = b" \t\r\v\f"


@dataclass(frozen=True)
class CorpusSource:
    """Where the lines of a corpus come from.

    A line is what windows never cross: a sentence or a paragraph. In a dataset each row of the column is one text, or
    of several columns one, put together by `join_texts`; line feeds cut it into lines. A line of a file of more than
    1 MiB is cut at blanks into lines of about that size; a part of it that has none, as in a language that writes none,
    is cut between two characters.

    Attributes:
        name: Source of the text: "sample" (generated sentences), a UTF-8 text file (also .gz, .zst, .bz2), or a
            dataset's folder or Hub id.
        column: Name of the dataset's text column, or several to join.
        split: Name of the dataset's split.
        data_dir: Folder with one sub-folder per dataset, as in `resolve_dataset`.
    """

    name: str
    column: str | tuple[str, ...] = TEXT
    split: str = "train"
    data_dir: str | None = None

    @property
    def has_splits(self) -> bool:
        """Whether the source is a dataset with splits, not a plain text file."""
        return self.name != "sample" and not self._is_file()

    def lines(self) -> Iterator[str]:
        """Yield every line, without its end; blank ones too.

        Raises:
            OSError: the file or dataset is not there.
            ValueError: bytes that are not UTF-8 or cannot be unpacked (the message names file and line), or no such
                split or column.
        """
        if self.name == "sample":
            yield from sample_corpus(SAMPLE_SEED)
        elif self._is_file():
            yield from _read_file_lines(Path(self.name))
        else:
            dataset = self._load_dataset()
            for parts in zip(*(iterate_column(dataset[name]) for name in list_column_names(self.column)), strict=True):
                told = [part or "" for part in parts]
                yield from (join_texts(told) if len(told) > 1 else told[0]).split("\n")

    def fingerprint(self) -> str:
        """Return the SHA-256 (hexadecimal) of the content; raises as `lines`."""
        if self.has_splits:
            return dataset_fingerprint(self._load_dataset().select_columns(list(list_column_names(self.column))))
        digest = hashlib.sha256()
        if self._is_file():
            with open(self.name, "rb") as file:
                while block := file.read(BLOCK):
                    digest.update(block)
        else:
            for line in self.lines():
                digest.update(f"{line}\n".encode())
        return digest.hexdigest()

    def _is_file(self) -> bool:
        """Return whether the source is one file, not a folder or a dataset of the Hub."""
        return Path(resolve_dataset(self.name, self.data_dir)).is_file()

    def _load_dataset(self) -> datasets.Dataset:
        """Load the split that the source names, or raise `ValueError` where split or column is missing."""
        splits = load_splits(self.name, self.data_dir, sample=True)
        if self.split not in splits:
            raise ValueError(f"{self.name} has no split {self.split!r}; it has {', '.join(splits)} (or set `split`)")
        dataset = splits[self.split]
        for name in list_column_names(self.column):
            if name not in dataset.column_names:
                raise ValueError(f"{self.name} has no column {name!r}; it has {', '.join(dataset.column_names)}")
        return dataset


def refuse_columns_of_plain_text(source_name: str, columns: ColumnNames) -> None:
    """Raise an error if columns are named for a plain text file, which has none.

    Raises:
        ValueError: there are such names.
    """
    if columns:
        raise ValueError(
            f"{source_name} is running text, of which every line is read; it has no column "
            f"{', '.join(list_column_names(columns))}: name none, or a folder or Hub id"
        )


def _read_file_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, possibly packed, without their ends."""
    number = 0
    try:
        for line in _read_byte_lines(path):
            number += 1
            yield line.decode("utf-8").rstrip("\r")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}, line {number}: {error.object[error.start : error.start + 1]!r} is not UTF-8; "
            "convert the file, for example with iconv"
        ) from error
    except OSError as error:
        if isinstance(error, FileNotFoundError) or path.suffix.lower() not in PACKED:
            raise
        raise ValueError(
            f"{path} cannot be unpacked after line {number}: {format_error_reason(error)}; copy or pack it again"
        ) from error


def _read_byte_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file as bytes without their ends, very long ones in parts."""
    with open_unpacked(path) as stream:
        unfinished_line = b""
        while block := stream.read(BLOCK):
            *whole, unfinished_line = (unfinished_line + block).split(b"\n")
            yield from whole
            if len(unfinished_line) > BLOCK:  # such as text8, all of whose 100 MB are one line
                part, unfinished_line = _split_at_last_blank(unfinished_line)
                yield part
        if unfinished_line:
            yield unfinished_line


def _split_at_last_blank(line: bytes) -> tuple[bytes, bytes]:
    """Split a line of bytes at its last blank, or before its last character if it has none."""
    blank = max(line.rfind(blank) for blank in BLANKS)
    if blank >= 0:
        return line[:blank], line[blank + 1 :]
    last = max((place for place in range(-4, 0) if line[place] & 0xC0 != 0x80), default=-1)
    return line[:last], line[last:]
