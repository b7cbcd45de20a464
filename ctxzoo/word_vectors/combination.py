"""Two sets of word vectors made one: gaps of the first filled by the second, or both side by side."""

from __future__ import annotations

import torch

from ctxzoo.word_vectors.vectors import WordVectors


def fill_word_vectors(base: WordVectors, other: WordVectors, name: str) -> WordVectors:
    """Return `base` with a vector for each word that `other` alone has.

    The vectors of `other`, and a constant, are mapped onto those of `base` by the linear map that is nearest, in least
    squares, for the words that both have.

    Args:
        base: (words, d) word vectors that stay unchanged.
        other: Word vectors of any dimension, which are mapped linearly to fill in words that `base` lacks.
        name: Name of the resulting vectors.

    Returns:
        (words of either, d): those of `base` in their order, then the others in theirs.

    Raises:
        ValueError: the words that both have are fewer than the width of `other`.
    """
    base_rows, other_rows, extra_rows = _match_words(base, other)
    if len(base_rows) <= other.dim:
        raise ValueError(
            f"{base.name} and {other.name} have {len(base_rows)} words in common; expected more than {other.dim}, the "
            "width of the second, to map one onto the other"
        )
    source = torch.cat([other.vectors.double(), torch.ones(len(other), 1, dtype=torch.float64)], dim=1)
    best = torch.linalg.lstsq(source[other_rows], base.vectors[base_rows].double()).solution
    mapped = (source[extra_rows] @ best).float()
    words = [*base.words, *(other.words[place] for place in extra_rows)]
    return WordVectors.from_tensor(words, torch.cat([base.vectors, mapped]), name)


def concatenate_word_vectors(base: WordVectors, other: WordVectors, name: str) -> WordVectors:
    """Return the vectors of both side by side; where a word has one of them alone, the other half is 0.

    Args:
        base, other: (words, d) and (words, e) word vectors to concatenate word by word.
        name: Name of the resulting vectors.

    Returns:
        (words of either, d + e): those of `base` in their order, then the others in theirs.
    """
    base_rows, other_rows, extra_rows = _match_words(base, other)
    vectors = torch.zeros(len(base) + len(extra_rows), base.dim + other.dim)
    vectors[: len(base), : base.dim] = base.vectors
    vectors[base_rows, base.dim :] = other.vectors[other_rows]
    vectors[len(base) :, base.dim :] = other.vectors[extra_rows]
    return WordVectors.from_tensor([*base.words, *(other.words[place] for place in extra_rows)], vectors, name)


def _match_words(base: WordVectors, other: WordVectors) -> tuple[list[int], list[int], list[int]]:
    """Return the rows of the words that both have, in `base` and in `other`, and the rows that `other` alone has."""
    row_of = {word: row for row, word in enumerate(base.words)}
    other_rows = [row for row, word in enumerate(other.words) if word in row_of]
    extra_rows = [row for row, word in enumerate(other.words) if word not in row_of]
    return [row_of[other.words[row]] for row in other_rows], other_rows, extra_rows
