"""A generated corpus for tagging: short sentences whose words have parts of speech.

Many words are a noun after an article and a verb after a pronoun, so that a word alone does not decide its tag. Names
are put together from syllables, and most of those in validation and test are not in train; numbers have any digits.

Only `random.Random.random` is used, the one method whose sequence Python promises to keep: the same seed gives the same
bytes everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import datasets

from ctxzoo.data.formats import SPLITS

AMBIGUOUS = ("guide", "lock", "paint", "plant", "record", "ship", "ring", "watch", "water", "wave")  # NN or VB
NOUNS = ("boat", "bridge", "clock", "engine", "garden", "harbour", "ladder", "letter", "tower", "window")
PLURALS = ("boats", "bridges", "clocks", "engines", "gardens", "ladders", "letters", "towers", "windows")
VERBS = ("carry", "clean", "find", "follow", "hold", "move", "repair", "sell", "take", "visit")
PAST = ("carried", "cleaned", "followed", "moved", "painted", "repaired", "sold", "visited", "watched")
ADJECTIVES = ("bright", "heavy", "narrow", "new", "old", "quiet", "round", "small", "steep", "wooden")
ADVERBS = ("always", "hardly", "never", "often", "quickly", "slowly")
ARTICLES = ("a", "the", "this", "every")
PRONOUNS = ("they", "we", "you")
MODALS = ("can", "may", "must", "should")
PREPOSITIONS = ("behind", "from", "near", "under", "with")
SYLLABLES = ("bar", "del", "fen", "gal", "kir", "lom", "mur", "nes", "pol", "rud", "sil", "tav", "vor", "wen")
COARSE = {
    **{"DT": "DET", "JJ": "ADJ", "NN": "NOUN", "NNS": "NOUN", "NNP": "NOUN", "CD": "NUM", "PRP": "PRON", "MD": "VERB"},
    **{"VB": "VERB", "VBD": "VERB", "RB": "ADV", "IN": "ADP", "CC": "CONJ", ",": ".", ".": "."},
}


def sample_tags(seed: int = 0, train: int = 1000, validation: int = 200, test: int = 200) -> datasets.DatasetDict:
    """Return the generated corpus; the same arguments give the same rows on every machine.

    A larger split begins with a smaller one's rows.

    Args:
        seed: 0 or more.
        train, validation, test: number of sentences, 1 or more.

    Returns:
        Splits train, validation and test with the columns tokens, pos_tags (as in the Penn Treebank) and upos (coarse
        tags), lists of text.

    Raises:
        ValueError: negative seed, or a number of sentences below 1.
    """
    if seed < 0:
        raise ValueError(f"seed is {seed}; expected 0 or more")
    splits = {}
    for split, rows in zip(SPLITS, (train, validation, test), strict=True):
        if rows < 1:
            raise ValueError(f"{split}={rows}; expected 1 sentence or more")
        draws = random.Random(f"ctxzoo sample_tags {seed} {split}")
        sentences = [list(_sentence(draws)) for _ in range(rows)]
        columns = {
            "tokens": [[word for word, _ in sentence] for sentence in sentences],
            "pos_tags": [[tag for _, tag in sentence] for sentence in sentences],
            "upos": [[COARSE[tag] for _, tag in sentence] for sentence in sentences],
        }
        splits[split] = datasets.Dataset.from_dict(columns)
    return datasets.DatasetDict(splits)


def _sentence(draws: random.Random) -> Iterator[tuple[str, str]]:
    yield from _clause(draws)
    if draws.random() < 0.25:
        yield ",", ","
        yield _pick(draws, ("and", "but")), "CC"
        yield from _clause(draws)
    yield ".", "."


def _clause(draws: random.Random) -> Iterator[tuple[str, str]]:
    """Return words and tags of a clause, such as "They can ring the old clock" or "the guide sold 17 boats"."""
    if draws.random() < 0.5:
        yield _pick(draws, PRONOUNS), "PRP"
        if draws.random() < 0.6:
            yield _pick(draws, MODALS), "MD"
            yield _pick(draws, (*AMBIGUOUS, *VERBS)), "VB"
        else:
            yield _pick(draws, PAST), "VBD"
    else:
        yield from _noun_phrase(draws)
        if draws.random() < 0.4:
            yield _pick(draws, ADVERBS), "RB"
        yield _pick(draws, PAST), "VBD"
    yield from _noun_phrase(draws)
    if draws.random() < 0.4:
        yield _pick(draws, PREPOSITIONS), "IN"
        yield from _noun_phrase(draws)


def _noun_phrase(draws: random.Random) -> Iterator[tuple[str, str]]:
    kind = draws.random()
    if kind < 0.2:
        yield "".join(_pick(draws, SYLLABLES) for _ in range(3)).capitalize(), "NNP"
        return
    plural = kind < 0.4
    yield (str(int(2 + draws.random() * 998)), "CD") if plural else (_pick(draws, ARTICLES), "DT")
    if draws.random() < 0.5:
        yield _pick(draws, ADJECTIVES), "JJ"
    yield (_pick(draws, PLURALS), "NNS") if plural else (_pick(draws, (*AMBIGUOUS, *NOUNS)), "NN")


def _pick(draws: random.Random, items: Sequence[str]) -> str:
    return items[int(draws.random() * len(items))]
