"""Which words of the texts of bills a model reads, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from ctxzoo.models.ops_vote import OUTCOME_WORDS, words_of

MIN_BILLS, MAX_FRACTION, MAX_WORDS = 5, 0.5, 10_000
NO_WORDS = ["-"]  # the words of a model whose training had no text: one, which is in none


def vocabulary_of(
    texts: Sequence[str],
    *,
    min_bills: int = MIN_BILLS,
    max_fraction: float = MAX_FRACTION,
    max_words: int = MAX_WORDS,
) -> list[str]:
    """Return the words of texts of bills that a model reads, sorted.

    Left out are stop words, `OUTCOME_WORDS`, single letters, words of fewer than `min_bills` texts and of more than
    `max_fraction` of them; of more than `max_words` others the most frequent stay.
    """
    counts = Counter(word for text in texts for word in set(words_of(text)))
    most = max_fraction * len(texts)
    kept = [
        (-count, word)
        for word, count in counts.items()
        if min_bills <= count <= most and len(word) > 1 and word not in ENGLISH_STOP_WORDS and word not in OUTCOME_WORDS
    ]
    return sorted(word for _, word in sorted(kept)[:max_words])


def bags_of_words(texts: Sequence[str], words: Sequence[str]) -> csr_array:
    """Return (bills, V) counts of the words in texts, float32."""
    places = {word: place for place, word in enumerate(words)}
    rows, columns, values = [], [], []
    for row, text in enumerate(texts):
        for word, count in Counter(words_of(text)).items():
            if word in places:
                rows.append(row)
                columns.append(places[word])
                values.append(count)
    return csr_array((np.array(values, np.float32), (rows, columns)), shape=(len(texts), len(words)))
