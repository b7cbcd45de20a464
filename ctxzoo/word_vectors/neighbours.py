"""The words that are closest to others."""

from __future__ import annotations

from collections.abc import Sequence

from torch.nn import functional as F

from ctxzoo.word_vectors.vectors import WordVectors


def most_similar(
    vectors: WordVectors, words: Sequence[str], negative: Sequence[str] = (), top: int = 10
) -> list[tuple[str, float]]:
    """Return the words closest to the sum of the vectors of `words` less those of `negative`, all of length 1.

    It does as gensim's `most_similar`; the given words are left out, and found in the spellings of
    `WordVectors.lookup`.

    Returns:
        Words and cosines, the closest first; as many as `top`, or as there are.

    Raises:
        TypeError: one string instead of a sequence of words.
        ValueError: no word at all, words without a vector (all are named), or `top` below 1.
    """
    for name, given in (("words", words), ("negative", negative)):
        if isinstance(given, str):
            raise TypeError(f"{name} is the string {given!r}, expected a sequence of words, for example [{given!r}]")
    if top < 1:
        raise ValueError(f"top is {top}; expected a number of words above 0")
    if not words and not negative:
        raise ValueError("no word to compare with; give at least one")
    rows = {word: row for word in (*words, *negative) if (row := vectors.lookup(word)) is not None}
    unknown = [word for word in (*words, *negative) if word not in rows]
    if unknown:
        raise ValueError(f"{vectors.name} has no vector of {', '.join(map(repr, unknown))}; ask for other words")
    of_length_1 = F.normalize(vectors.vectors, dim=1)
    query = of_length_1[[rows[word] for word in words]].sum(dim=0)
    query = query - of_length_1[[rows[word] for word in negative]].sum(dim=0)
    cosines = of_length_1 @ F.normalize(query, dim=0)
    excluded = list(set(rows.values()))
    cosines[excluded] = -2.0  # below any cosine
    values, rows_of_closest = cosines.topk(min(top, len(vectors) - len(excluded)))
    return [(vectors.words[row], value) for row, value in zip(rows_of_closest.tolist(), values.tolist(), strict=True)]
