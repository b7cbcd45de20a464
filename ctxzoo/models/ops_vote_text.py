"""The words of bills, without what tells how a vote ended. Exported models have a copy, so nothing more is imported."""

import re

# Descriptions of roll calls may tell how they ended ("SENATE AGREED TO …", "having not voted in the affirmative").
OUTCOME_WORDS = frozenset(
    (
        *("accepted", "adopted", "affirmative", "agreed", "approved", "confirmed", "defeated", "disagreed", "failed"),
        *("invoked", "nay", "nays", "negative", "passed", "ratified", "refused", "rejected", "sustained", "tabled"),
        *("upheld", "voted", "voting", "yea", "yeas"),
    )
)
_WORD = re.compile(r"[a-z]+")
_BRACKET = re.compile(r"[()]")


def split_into_words(text: str) -> list[str]:
    """Return the words of a text in their order: runs of the letters a to z, in small letters."""
    return _WORD.findall(text.lower())


def remove_outcomes(text: str) -> str:
    """Return a text without the brackets that tell how the vote ended, those with one of `OUTCOME_WORDS`.

    "(THREE-FIFTHS … DULY CHOSEN AND SWORN NOT HAVING VOTED IN THE AFFIRMATIVE, SENATE REJECTED …)" goes as a whole: the
    words beside "rejected" tell of the vote too. Brackets within brackets go with the outermost; one that is not closed
    stays.
    """
    parts, end, depth, start = [], 0, 0, 0
    for bracket in _BRACKET.finditer(text):
        if bracket.group() == "(":
            start = bracket.start() if depth == 0 else start  # of the outermost bracket
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0 and not OUTCOME_WORDS.isdisjoint(split_into_words(text[start : bracket.end()])):
                parts.append(text[end:start])
                end = bracket.end()
    return "".join((*parts, text[end:]))
