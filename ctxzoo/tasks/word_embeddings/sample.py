"""A generated corpus for word vectors: sentences of a small grammar whose words come in kinds.

A verb depends on its subject's kind, and an adverb stands next to its verb, so there is something to learn from near
positions and from far ones. Only `random.Random.random` is used, the one method whose sequence Python promises to keep.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

SAMPLE_SEED = 0
LINES = 3000

# Subjects, their verbs and what these are about.
KINDS = (
    (("cat", "dog", "horse", "bird", "goat"), ("eats", "hides", "finds", "smells"), ("hay", "bread", "corn")),
    (("baker", "farmer", "doctor", "driver"), ("sells", "buys", "counts", "carries"), ("coins", "books", "maps")),
    (("river", "stream", "lake", "brook"), ("moves", "cools", "lifts", "covers"), ("sand", "ice", "mud")),
)
ARTICLES = ("the", "a", "this", "every")
ADVERBS = ("often", "never", "slowly", "always", "rarely")
ADJECTIVES = ("old", "young", "small", "quiet", "tall", "strange")
PLACES = ("near the house", "behind the hill", "in the valley", "at the market", "by the road")
TIMES = ("in spring", "at night", "after lunch", "before noon", "in 1987", "on 14 may")


def sample_corpus(seed: int, lines: int = LINES) -> Iterator[str]:
    """Return sentences, one a line; the same arguments give the same lines everywhere.

    Raises:
        ValueError: no line is requested.
    """
    if lines < 1:
        raise ValueError(f"lines is {lines}; expected 1 or more")
    generator = random.Random(seed)

    def draw_word(words: Sequence[str]) -> str:
        return words[int(generator.random() * len(words))]

    for _ in range(lines):
        subjects, verbs, nouns = KINDS[int(generator.random() * len(KINDS))]
        yield " ".join(
            [
                *(
                    draw_word(ARTICLES).capitalize(),
                    draw_word(ADJECTIVES),
                    draw_word(subjects),
                    draw_word(ADVERBS),
                    draw_word(verbs),
                ),
                *(draw_word(ADJECTIVES), draw_word(nouns), draw_word(PLACES), draw_word(TIMES), "."),
            ]
        )
