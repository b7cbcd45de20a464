"""Texts, one a line, with labels and without, and reviews that are a file each."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxzoo.catalogue.archives import read_tar_texts
from ctxzoo.catalogue.entry import Files, RawFileError, Rows, Splits

_C1 = re.compile("[\x80-\x9f]")  # control characters that no text means: bytes of Windows-1252 read as Latin-1
_REVIEW = re.compile(r"aclImdb/(train|test)/(neg|pos)/(\d+)_\d+\.txt")


def read_lines(path: Path, encoding: str = "utf-8") -> list[str]:
    """Return the lines of a file, split at line feeds alone, without the empty piece behind the last.

    Raises:
        RawFileError: the file is not in that encoding.
    """
    lines = read_text(path, encoding).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the text of a file as it is.

    Raises:
        RawFileError: the file is not in that encoding.
    """
    try:
        return path.read_bytes().decode(encoding)
    except UnicodeDecodeError as error:
        raise RawFileError(
            f"{path.name}: byte {error.start} is not {encoding}; expected the file of the source"
        ) from error


def parse_csv_rows(lines: Iterable[str], name: str, columns: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of a table of commas whose first line names its columns.

    Args:
        lines: Lines of the table, the header first.
        name: Name of the file, for error messages.
        columns: Names of the columns to read.

    Raises:
        RawFileError: a column is not there.
    """
    csv.field_size_limit(sys.maxsize)
    reader = csv.DictReader(lines)
    headings = list(reader.fieldnames or ())
    missing = [column for column in columns if column not in headings]
    if missing:
        raise RawFileError(f"{name} has the columns {headings}; expected {missing[0]!r}")
    yield from reader


def make_label_file_converter(
    labels: Sequence[tuple[str, int, str]], encoding: str = "utf-8", *, label_text: bool = True
) -> Callable[[Files], Splits]:
    """Return a function that converts files of texts, one file for each label, to one split "train".

    Empty lines are left out, and blanks around texts.

    Args:
        labels: Name of each file with the number and the name of its label, in the order of rows.
        encoding: Encoding of the files.
        label_text: Whether the rows get a column with the names of the labels.
    """

    def convert(files: Files) -> Splits:
        """Return one split of all texts, labelled by the file that each is from."""
        texts, numbers, names = [], [], []
        for file, number, name in labels:
            label_texts = [text for line in read_lines(files[file], encoding) if (text := line.strip())]
            texts += label_texts
            numbers += [number] * len(label_texts)
            names += [name] * len(label_texts)
        rows: dict[str, list[Any]] = {"text": texts, "label": numbers}
        return {"train": {**rows, "label_text": names} if label_text else rows}

    return convert


def make_sentence_file_converter(files_of_splits: Mapping[str, str]) -> Callable[[Files], Splits]:
    """Return a function that converts files of one sentence a line to rows of sentences.

    Args:
        files_of_splits: Name of each split to the name of its file.

    Raises:
        RawFileError: when it converts, a line is blank, which no file of the source has.
    """

    def read_sentences(path: Path) -> Rows:
        """Return the sentences of a file, one a line."""
        sentences = [line.strip() for line in read_lines(path)]
        if "" in sentences:
            raise RawFileError(f"{path.name}, line {sentences.index('') + 1}: blank; expected a sentence")
        return {"sentence": sentences}

    return lambda files: {split: read_sentences(files[file]) for split, file in files_of_splits.items()}


def read_sentence_polarity(files: Files) -> Splits:
    """Return train, validation and test: of each label the first 80 %, the next and the last 10 %; positives first."""
    splits: dict[str, dict[str, list[Any]]] = {}
    for file, label in (("rt-polarity.pos", 1), ("rt-polarity.neg", 0)):
        texts = [line.strip() for line in read_lines(files[file])]
        first, second = round(0.8 * len(texts)), round(0.9 * len(texts))
        for split, part in (("train", texts[:first]), ("validation", texts[first:second]), ("test", texts[second:])):
            rows = splits.setdefault(split, {"text": [], "label": []})
            rows["text"] += part
            rows["label"] += [label] * len(part)
    return splits


def make_labelled_line_converter(
    files_of_splits: Sequence[tuple[str, str]], names: Sequence[str], separator: str, *, header: bool, label_text: bool
) -> Callable[[Files], Splits]:
    """Return a function that converts files with a label, a separator and a text on each line to rows.

    Args:
        files_of_splits: Name of each split to the name of its file.
        names: Names of the labels in the order of their numbers, where lines begin with names.
        separator: Text that ends the label; its first occurrence in a line counts.
        header: Whether the first line of a file is a header.
        label_text: Whether the rows get a column with the names of the labels.
    """
    number_of = {**{str(number): number for number in range(len(names))}, **{name: n for n, name in enumerate(names)}}

    def read_labelled_lines(path: Path) -> Rows:
        """Return the texts and labels of a file with a label at the start of each line."""
        texts, numbers = [], []
        for index, line in enumerate(read_lines(path)[int(header) :], start=1 + int(header)):
            label, found, text = line.partition(separator)
            if not found or label not in number_of:
                raise RawFileError(
                    f"{path.name}, line {index}: begins with {line[:40]!r}; expected one of {', '.join(number_of)}, "
                    f"{separator!r} and a text"
                )
            texts.append(text.strip())
            numbers.append(number_of[label])
        rows: dict[str, list[Any]] = {"text": texts, "label": numbers}
        return {**rows, "label_text": [names[number] for number in numbers]} if label_text else rows

    return lambda files: {split: read_labelled_lines(files[file]) for split, file in files_of_splits}


def repair_windows_1252(text: str) -> str:
    """Return a text with the characters that Windows-1252 means by bytes that were read as Latin-1.

    The few that it leaves undefined stay as they are.
    """
    return _C1.sub(lambda match: match[0].encode("latin-1").decode("cp1252", errors="ignore") or match[0], text)


def read_film_reviews(files: Files) -> Splits:
    """Return train and test of the Large Movie Review archive, sorted by label and by the number of the review.

    Raises:
        RawFileError: the archive is damaged, or holds no reviews.
    """
    (path,) = files.values()
    reviews_of_splits: dict[str, list[tuple[int, int, str]]] = {"train": [], "test": []}
    for match, text in read_tar_texts(path, _REVIEW):
        reviews_of_splits[match[1]].append((int(match[2] == "pos"), int(match[3]), repair_windows_1252(text)))
    return {split: _build_review_columns(sorted(reviews), path) for split, reviews in reviews_of_splits.items()}


def _build_review_columns(reviews: Iterable[tuple[int, int, str]], path: Path) -> Rows:
    """Return the columns text and label of reviews (label, number, text); `path` is the archive they are from."""
    rows: Rows = {"text": [], "label": []}
    for label, _, text in reviews:
        rows["text"].append(text)
        rows["label"].append(label)
    if not rows["text"]:
        raise RawFileError(f"{path.name} holds no aclImdb/{{train,test}}/{{neg,pos}}/N_RATING.txt")
    return rows
