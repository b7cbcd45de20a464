"""Vocabularies from data: words, characters, and the word vectors that belong to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from ctxzoo.models.tokenization_word import WordTokenizer
from ctxzoo.word_vectors.vectors import WordVectors

SPECIAL_ROWS = 2  # padding and unknown


def frequent_words(words: Sequence[str], counts: npt.NDArray[np.int32], min_count: int) -> list[str]:
    """Return the words that occur at least `min_count` times, most frequent first."""
    order = np.argsort(-counts, kind="stable")
    return [words[row] for row in order.tolist() if counts[row] >= min_count]


def frequent_characters(words: Sequence[str], counts: npt.NDArray[np.int32], min_count: int) -> list[str]:
    """Return the characters that occur `min_count` times or more in running text, by count, ties by code point."""
    total: Counter[str] = Counter()
    for row in np.flatnonzero(counts).tolist():
        for character in words[row]:
            total[character] += int(counts[row])
    return [
        character
        for character, count in sorted(total.items(), key=lambda item: (-item[1], item[0]))
        if count >= min_count
    ]


def table_of_known(num_ids: int, known: torch.Tensor, vectors: torch.Tensor, seed: int) -> torch.Tensor:
    """Return (num_ids, dim) with `vectors` (n, dim) at the ids `known` (n,), padding 0, all other rows drawn.

    They are drawn from a normal distribution around 0 with the standard deviation of the vectors: they should neither
    stand out nor be equal to each other.
    """
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(num_ids, vectors.shape[1], generator=generator) * vectors.std()
    table[0] = 0
    table[known] = vectors
    return table


def word_vector_table(tokenizer: WordTokenizer, vectors: WordVectors, seed: int, std: float = 0.0) -> torch.Tensor:
    """Return (num_ids, dim) the vectors of a tokenizer's words.

    Rows of words without a vector, and of the buckets of n-grams, are those of `table_of_known`.

    Args:
        tokenizer, vectors: whose words have what vectors.
        seed: of the rows that are drawn.
        std: standard deviation of all numbers of the words that have a vector, which are multiplied by one factor for
            it; 0: vectors as they are.

    Raises:
        ValueError: no word has a vector; `std` is negative.
    """
    if not std >= 0:
        raise ValueError(f"the standard deviation of word vectors is {std}; expected 0 (as they are) or more")
    words = tokenizer.convert_ids_to_tokens(range(1, len(tokenizer)))
    rows = [vectors.lookup(word) for word in words]
    known = torch.tensor([number for number, row in enumerate(rows, start=1) if row is not None])
    if not len(known):
        raise ValueError(
            f"{vectors.name} has a vector for none of the {len(rows)} words; choose vectors of this language"
        )
    found = vectors.vectors[[row for row in rows if row is not None]]
    if std:
        found = found * (std / found.std())
    return table_of_known(tokenizer.num_ids, known, found, seed)


def table_with_special_rows(vectors: WordVectors) -> torch.Tensor:
    """Return (2 + words, dim): the vectors below two rows of zeros, for padding and for words without a vector."""
    return torch.cat([torch.zeros(SPECIAL_ROWS, vectors.dim), vectors.vectors])
