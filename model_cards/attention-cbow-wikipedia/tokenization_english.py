"""English text cut into words and signs, close to spaCy's blank English, by rules that travel in tokenizer.json."""

from tokenizers import Regex, pre_tokenizers

# Reviews are published with line breaks as HTML or as a backslash and an n, and with backslashes before quotes.
LINE_BREAK = r"""<br ?/?>|\\n|\\(?=")"""

_ALNUM = r"[\p{L}\p{M}\p{N}]"
_END = rf"(?!{_ALNUM})"
_APOSTROPHE = "['’]"
_ENDING = rf"{_APOSTROPHE}(?i:s|ll|ve|re|d|m){_END}"  # it|'s, I|'ll, we|'ve, they|'re, I|'d, I|'m
_NOT = rf"(?i:n{_APOSTROPHE}t){_END}"  # do|n't
# What may stand inside a word, between letters or digits: o'clock, AT&T, U.S.A, 3.5, 1,000, 10:30, 9/10, covid-19.
_INSIDE = "|".join(
    [
        rf"(?!{_ENDING}){_APOSTROPHE}",
        r"[&_@*#$]",
        r"(?<![\p{L}\p{M}]{2})\.",  # after two letters it ends a sentence whose space is missing
        r"(?<=\p{N})[,:/](?=\p{N})",
        r"(?<=\p{L})-(?=\p{N})",
    ]
)
# The first that fits is taken, and white space, which none fits, is left out. A word must come out whole when it is
# cut by itself: vocabularies are checked by that.
WORD = "|".join(
    [
        r"""(?:https?://|www\.)[^\s<>"()]*[\p{L}\p{N}/]""",
        rf"(?i:can(?=not{_END})|gon(?=na{_END})|got(?=ta{_END}))",
        # Without the apostrophe: do|nt.
        r"(?i:ai|are|ca|could|did|does|do|had|has|have|is|should|was|were|wo|would)" + rf"(?=(?i:nt){_END})",
        r"(?:\p{L}\.)+(?![\p{L}\p{M}\p{N}.])",  # U.S., e.g., initials
        r"(?i:mr|mrs|ms|dr|st|jr|sr|vs|mt|prof|inc|ltd|corp|co)\.(?![\p{L}\p{M}\p{N}.])",
        rf"{_ALNUM}(?:(?!{_NOT}){_ALNUM}|(?:{_INSIDE})(?={_ALNUM}))*",
        _ENDING,
        rf"[:;=]{_APOSTROPHE}?-?[()\[\]dDpPoO3/\\|]{_END}",  # :-)
        r"\.{2,}|-{2,}",
        r"\S",
    ]
)


def english_pre_tokenizer() -> pre_tokenizers.PreTokenizer:
    """Words, numbers and signs of English text; white space and line breaks in HTML or as "\\n" are left out.

    As in spaCy contractions are split (do|n't, it|'s, can|not), hyphens and slashes between letters are words, and
    abbreviations keep their period (U.S., Mr.). A text reads the same in capitals and in small letters, so what spaCy
    tells by capitals is told by lengths: film.The is three words, U.S.A one. Cut at more places than in spaCy:
    brackets, quotes and backslashes inside of words.
    """
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LINE_BREAK), "removed"),
            pre_tokenizers.Split(Regex(WORD), "removed", invert=True),
        ]
    )
