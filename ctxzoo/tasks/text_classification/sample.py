"""A generated corpus for text classification: short reviews of things, negative or positive.

Half of the reviews are decided by their adjectives. In a quarter a negation turns the adjective round. In the last
quarter two clauses disagree, and what counts is the one after "but", or the one that does not begin with "although" or
"even though". A weighted sum over the words therefore gets less than two thirds right; a model that reads the order of
words gets all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import datasets

from ctxzoo.data.formats import SPLITS
from ctxzoo.data.generated import RandomDraws

LABELS = ("negative", "positive")
MOST_ROWS = 5000  # with many more, validation and test would run out of different short reviews

THINGS = (
    *("battery", "cable", "camera", "charger", "fabric", "handle", "hinge", "keyboard"),
    *("lamp", "lens", "lid", "manual", "motor", "screen", "speaker", "zipper"),
)
ADJECTIVES = (
    ("cheap", "dull", "flimsy", "noisy", "slow", "useless", "weak", "wobbly"),
    ("bright", "handy", "quiet", "reliable", "sharp", "solid", "sturdy", "useful"),
)
ARTICLES = ("the", "its", "my", "this")
PLAIN = ("is", "was", "is really", "was always")
NEGATED = ("is not", "was not", "is hardly", "was never")
OPENERS = ("", "", "after a week , ", "to be honest , ", "out of the box , ")


def sample_texts(seed: int = 0, train: int = 2000, validation: int = 300, test: int = 300) -> datasets.DatasetDict:
    """Return the generated corpus; the same arguments give the same rows on every machine.

    No text occurs twice, in one split or in two. Labels alternate. A larger split begins with a smaller one's rows.

    Args:
        seed: Seed of the generator, 0 or more.
        train, validation, test: Number of texts to generate for each split, 1 to 5,000.

    Returns:
        Splits train, validation and test with the columns text and label (0 "negative", 1 "positive").

    Raises:
        ValueError: negative seed, or a number of rows out of range.
    """
    if seed < 0:
        raise ValueError(f"seed is {seed}; expected 0 or more")
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=list(LABELS))})
    splits = {}
    for split, rows in zip(SPLITS, (train, validation, test), strict=True):
        if not 1 <= rows <= MOST_ROWS:
            raise ValueError(f"{split}={rows}; expected 1 to {MOST_ROWS} rows")
        texts = _generate_texts(seed, split)
        labels = [row % len(LABELS) for row in range(rows)]
        columns = {"text": [next(texts[label]) for label in labels], "label": labels}
        splits[split] = datasets.Dataset.from_dict(columns, features=features)
    return datasets.DatasetDict(splits)


def _generate_texts(seed: int, split: str) -> list[Iterator[str]]:
    """Generate for each label its texts of this split."""
    return [
        _generate_distinct_texts(RandomDraws(f"ctxzoo sample_texts {seed} {split} {name}"), split, name)
        for name in LABELS
    ]


def _generate_distinct_texts(draws: RandomDraws, split: str, label_name: str) -> Iterator[str]:
    """Yield texts that were not there before; their hash says to which split they belong."""
    seen = set()
    while True:
        text = _generate_review(draws, LABELS.index(label_name))
        eighth = hashlib.sha256(text.encode()).digest()[0] % 8
        if text not in seen and SPLITS[max(0, eighth - 5)] == split:
            seen.add(text)
            yield text


def _generate_review(draws: RandomDraws, label: int) -> str:
    kind = draws.random()
    if kind < 0.25:
        text = _generate_clause(draws, label, negated=False)
    elif kind < 0.5:
        text = f"{_generate_clause(draws, label, negated=False)} and {_generate_clause(draws, label, negated=False)}"
    elif kind < 0.75:
        text = _generate_clause(draws, label, negated=True)
    else:
        main, other = _generate_clause(draws, label, negated=False), _generate_clause(draws, 1 - label, negated=False)
        text = draws.draw_item(
            ("{other} but {main}", "although {other} , {main}", "{main} even though {other}")
        ).format(main=main, other=other)
    return f"{draws.draw_item(OPENERS)}{text} ."


def _generate_clause(draws: RandomDraws, label: int, *, negated: bool) -> str:
    """Return a clause that speaks for `label`."""
    subject = f"{draws.draw_item(ARTICLES)} {draws.draw_item(THINGS)}"
    adjective = draws.draw_item(ADJECTIVES[1 - label if negated else label])
    return f"{subject} {draws.draw_item(NEGATED if negated else PLAIN)} {adjective}"
