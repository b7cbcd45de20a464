"""Rows of word vectors for the words of a test set, and vectors of length 1."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ctxzoo.word_vectors.vectors import WordVectors

UNKNOWN = -1


def look_up_rows(vectors: WordVectors, words: Iterable[str]) -> npt.NDArray[np.int64]:
    """Return (words,) the row that `WordVectors.lookup` finds for each word, `UNKNOWN` for a word without a vector."""
    row_of_word: dict[str, int] = {}
    rows = []
    for word in words:
        if word not in row_of_word:
            row = vectors.lookup(word)
            row_of_word[word] = UNKNOWN if row is None else row
        rows.append(row_of_word[word])
    return np.array(rows, np.int64)


def normalize_rows(vectors: WordVectors) -> npt.NDArray[np.float32]:
    """Return (words, d) the vectors divided by their lengths; a vector of zeros stays."""
    matrix: npt.NDArray[np.float32] = vectors.vectors.numpy()
    lengths: npt.NDArray[np.float32] = np.linalg.norm(matrix, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return matrix / lengths
