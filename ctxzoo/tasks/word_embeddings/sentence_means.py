"""Sentences as means of their words' vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ctxzoo.models.tokenization_word import cut_words, word_cutter
from ctxzoo.tasks.word_embeddings.word_rows import UNKNOWN, rows_of
from ctxzoo.word_vectors.vectors import WordVectors

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class KnownWords:
    """The words of texts that have a vector.

    Attributes:
        rows: (words,) of the vectors.
        texts: (words,) which text each stands in.
        number: of texts.
        coverage: percentage of all words.
    """

    rows: npt.NDArray[np.int64]
    texts: npt.NDArray[np.int64]
    number: int
    coverage: float

    def mean(self, table: npt.NDArray[np.float32], weights: Numbers | None = None) -> Numbers:
        """Return (texts, d) means of rows of a table, weighted by `weights` (rows of the table,), or all alike.

        A text without a known word is a vector of zeros.
        """
        factors = np.ones(len(self.rows)) if weights is None else weights[self.rows]
        sums = np.zeros((self.number, table.shape[1]))
        np.add.at(sums, self.texts, table[self.rows] * factors[:, None])
        totals = np.bincount(self.texts, factors, minlength=self.number)
        return sums / np.where(totals == 0, 1, totals)[:, None]


def known_words(vectors: WordVectors, texts: Sequence[str]) -> KnownWords:
    """Return the known words of texts that are cut at white space; words are looked up as they are first."""
    cutter = word_cutter(lower_case=False)
    words = [cut_words(cutter, text) for text in texts]
    rows = rows_of(vectors, [word for text in words for word in text])
    of_text = np.repeat(np.arange(len(words)), [len(text) for text in words])
    known = rows != UNKNOWN
    return KnownWords(rows[known], of_text[known], len(words), 100 * float(known.mean()))
