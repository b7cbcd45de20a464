"""Features of words for taggers: a word as written and in small letters, its ends, its shape and its kind.

They are those that conditional random fields read (Ratinov and Roth 2009), by which a tagger knows something of a word
that it has never seen.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

ENDS = (1, 2, 3, 4)  # letters of a beginning or an ending
NUM_FEATURES = 4 + 2 * len(ENDS)  # of a word
_SHAPES = ((re.compile(r"[^\W\d_]"), lambda found: "X" if found[0].isupper() else "x"), (re.compile(r"\d"), "9"))
_RUN = re.compile(r"(.)\1{2,}")
_DIGIT = re.compile(r"\d")


def compute_word_shape(word: str) -> str:
    """Return a word with X for capital letters, x for others and 9 for digits, runs of one of them cut to two."""
    for pattern, sign in _SHAPES:
        word = pattern.sub(sign, word)
    return _RUN.sub(r"\1\1", word)


def list_word_features(word: str) -> list[str]:
    """Return the `NUM_FEATURES` features of a word, each with its name before "=".

    They are the word; in small letters with every digit a 0 the whole word, its first and its last one to four
    characters; its shape; and its kind: how it is capitalised, and whether digits and hyphens are in it.
    """
    folded = _DIGIT.sub("0", word.lower())
    case = "upper" if word.isupper() else "title" if word[:1].isupper() else "mixed" if word.lower() != word else ""
    kind = f"{case}{' digit' * bool(_DIGIT.search(word))}{' hyphen' * ('-' in word)}"
    ends = [f"{name}{size}={part}" for size in ENDS for name, part in (("p", folded[:size]), ("s", folded[-size:]))]
    return [f"w={word}", f"l={folded}", *ends, f"shape={compute_word_shape(word)}", f"kind={kind}"]


def find_word_features(sentences: Iterable[Sequence[str]], min_count: int) -> list[str]:
    """Return the features that words of sentences have at least `min_count` times, most frequent first.

    Those that are as frequent are in alphabetical order.
    """
    words = Counter(word for sentence in sentences for word in sentence)
    counts: Counter[str] = Counter()
    for word, number in words.items():
        for feature in list_word_features(word):
            counts[feature] += number
    kept = [feature for feature, number in counts.items() if number >= min_count]
    return sorted(kept, key=lambda feature: (-counts[feature], feature))
