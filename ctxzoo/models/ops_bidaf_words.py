"""Numbers that say how a word relates to another text. Exported models have a copy, so nothing more is imported."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

# Word features are numbers that say how a word relates to the other text (Chen et al. 2017, section 3.2.1). Three forms
# of exact match and the term frequency are the paper's; the light stem stands in for its lemma and the shape of the
# word for its part of speech and entity type, because no tagger travels with a checkpoint.
NUM_WORD_SHAPES = 8
NUM_WORD_FEATURES = 4 + NUM_WORD_SHAPES

LOWER, CAPITALISED, UPPER, MIXED, DIGITS, WITH_DIGITS, SIGN, OTHER = range(NUM_WORD_SHAPES)


def compute_word_features(words: Sequence[str], other_words: Sequence[str]) -> list[list[float]]:
    """Return `NUM_WORD_FEATURES` numbers for each word of a text.

    They are, in this order: 1 where some word of the other text is the same as written, lower-cased, by `stem_word`,
        else 0;
    how often the lower-cased word stands in its own text, over the words of that text; the one-hot
    `classify_word_shape`.
    """
    lower = [word.lower() for word in words]
    counts = Counter(lower)
    distinct_others = set(other_words)
    other_lower = {word.lower() for word in distinct_others}
    other_stems = {stem_word(word) for word in distinct_others}
    rows = []
    for word, low in zip(words, lower, strict=True):
        shape = [0.0] * NUM_WORD_SHAPES
        shape[classify_word_shape(word)] = 1.0
        matches = (word in distinct_others, low in other_lower, stem_word(word) in other_stems)
        rows.append([*map(float, matches), counts[low] / len(words), *shape])  # 3 + 1 + 8 numbers
    return rows


@lru_cache(maxsize=1 << 17)
def classify_word_shape(word: str) -> int:
    """Return the shape of a word as one of `NUM_WORD_SHAPES` numbers, the first of these that applies:

    4 digits only, 5 digits and others, 0 lower case, 1 first character upper case and no other, 2 all upper case,
    3 upper and lower case mixed, 6 punctuation and symbols only, 7 anything else (no case, control characters).
    """
    if any(character.isdigit() for character in word):
        return DIGITS if word.isdigit() else WITH_DIGITS
    if word.islower():
        return LOWER
    uppers = [character.isupper() for character in word]
    if any(uppers):
        if uppers[0] and not any(uppers[1:]):
            return CAPITALISED
        return UPPER if word.isupper() else MIXED
    if word and all(unicodedata.category(character)[0] in "PS" for character in word):
        return SIGN
    return OTHER


@lru_cache(maxsize=1 << 17)
def stem_word(word: str) -> str:
    """Return the lower-cased word without common English endings: a rough key under which forms of one word meet.

    In words of letters only, and as long as three letters stay, these go in this order: the plural (-ies to -y, -es
    after a hissing sound, -s except in -ss, -us, -is); then -ied to -y, -ing or -ed where a vowel stays before it, or
    -ly; a doubled last consonant becomes single; a last -e goes, a last -y becomes -i.
    """
    word = word.lower()
    if not word.isalpha():
        return word
    if word.endswith("ies") and len(word) >= 5:
        word = f"{word[:-3]}y"
    elif word.endswith(("ses", "xes", "zes", "ches", "shes")) and len(word) >= 5:
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) >= 4:
        word = word[:-1]
    if word.endswith("ied") and len(word) >= 5:
        word = f"{word[:-3]}y"
    else:
        for ending in ("ing", "ed", "ly"):
            rest = word.removesuffix(ending)
            if rest != word and len(rest) >= 3 and (ending == "ly" or any(vowel in rest for vowel in "aeiouy")):
                word = rest
                break
    if len(word) >= 4 and word[-1] == word[-2] and word[-1] not in "aeiou":  # stopped -> stopp -> stop
        word = word[:-1]
    if len(word) >= 4 and word[-1] == "e":  # make -> mak, as of making
        word = word[:-1]
    # parties -> party -> parti, as party -> parti: y and ies meet.
    return f"{word[:-1]}i" if len(word) >= 3 and word[-1] == "y" else word
