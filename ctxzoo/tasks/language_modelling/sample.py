"""Generated text: invented reports in which a verb agrees with a noun that may stand several words before it.

Each line has a subject, perhaps with a clause between it and its verb, and an object that suits the verb. What comes
next follows from more than the last word, so that a model that reads the whole line does better than counts of pairs.

Only `random.Random.random` is used, the one method whose sequence Python promises to keep: the same seed gives the same
bytes everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

import datasets

from ctxzoo.data.formats import SPLITS

TEXT = "text"  # the column of the lines
Item = TypeVar("Item")

NOUNS = (("farmer", "farmers"), ("baker", "bakers"), ("sailor", "sailors"), ("teacher", "teachers"))
ADJECTIVES = ("old", "young", "tall", "tired")
CLAUSES = ("from the village", "behind the mill", "with a red hat", "near the river")
# Singular, plural, and the objects of the verb.
VERBS = (
    ("sells", "sell", ("bread", "flour", "apples")),
    ("mends", "mend", ("a net", "a boat", "the roof")),
    ("reads", "read", ("a letter", "the paper", "an old book")),
    ("paints", "paint", ("the door", "a boat", "the wall")),
)
ENDINGS = ("", "", "today", "every day", "after lunch")


def sample_text(seed: int = 0, train: int = 600, validation: int = 100, test: int = 100) -> dict[str, datasets.Dataset]:
    """Return generated lines; the same arguments give the same rows on every machine.

    A larger split begins with a smaller one's rows.

    Args:
        seed: 0 or more.
        train, validation, test: number of lines, 1 or more.

    Returns:
        Splits train, validation and test with the column `text`.

    Raises:
        ValueError: negative seed, or a number of lines below 1.
    """
    if seed < 0:
        raise ValueError(f"seed is {seed}; expected 0 or more")
    splits = {}
    for split, rows in zip(SPLITS, (train, validation, test), strict=True):
        if rows < 1:
            raise ValueError(f"{split}={rows}; expected 1 line or more")
        draws = random.Random(f"ctxzoo sample_text {seed} {split}")
        splits[split] = datasets.Dataset.from_dict({TEXT: [_line(draws) for _ in range(rows)]})
    return splits


def _line(draws: random.Random) -> str:
    plural = draws.random() < 0.5
    words = ["the"]
    if draws.random() < 0.4:
        words.append(_pick(draws, ADJECTIVES))
    words.append(_pick(draws, NOUNS)[int(plural)])
    if draws.random() < 0.4:
        words.append(_pick(draws, CLAUSES))
    singular_form, plural_form, objects = _pick(draws, VERBS)
    words += [plural_form if plural else singular_form, _pick(draws, objects), _pick(draws, ENDINGS), "."]
    return " ".join(word for word in words if word)


def _pick(draws: random.Random, items: Sequence[Item]) -> Item:
    return items[int(draws.random() * len(items))]
