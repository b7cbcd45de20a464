"""How running text is cut into words as the sentences of training data are: the rule that gives most of their words.

Training data hold words, not the text that they were cut from. It is put together again as print has it, signs beside
their words, and every rule cuts it; words that a rule cuts though they are words of the data become exceptions.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ctxzoo.data.text_encoding import UNSPACED
from ctxzoo.models.tokenization_word import PreTokenizerName, build_pre_tokenizer

RULES: tuple[PreTokenizerName, ...] = ("treebank", "english", "words", "signs", "unspaced", "characters", "whitespace")
MOST_SENTENCES = 2_000  # that rules are tried on
MOST_EXCEPTIONS = 200
SINGLE = 0.95  # share of words of one character from which on data are cut into characters
_NO_BLANK_BEFORE = re.compile(r"[,.;:!?…%)\]}»”]+|''|(?:n['’]t|['’](?:s|ll|ve|re|d|m))|['’]", re.IGNORECASE)
_NO_BLANK_AFTER = re.compile(r"[(\[{«“$£€]+|``")
_BETWEEN = re.compile(r"[-/]")


@dataclass(frozen=True)
class CutRule:
    """A rule that cuts text into words, and how many words of training data it gives.

    Attributes:
        name: Name of the pre-tokenizer.
        exceptions: Words that it leaves whole, though its rule would cut them.
        right, words: Number of words of the data that come out as they are, and of all.
    """

    name: PreTokenizerName
    exceptions: tuple[str, ...]
    right: int
    words: int

    def describe(self) -> str:
        """Describe the rule in a line."""
        kept = f", {len(self.exceptions)} words of the data kept whole" if self.exceptions else ""
        share = 100 * self.right / self.words
        return f"running text is cut by the rule {self.name!r}{kept}: it gives {share:.1f} % of the training words"


def choose_cut_rule(sentences: Sequence[Sequence[str]], name: PreTokenizerName | None = None) -> CutRule:
    """Return the rule by which most words of sentences come out as they are, the first of `RULES` if several do.

    Args:
        sentences: Training sentences as lists of words; the first `MOST_SENTENCES` are read.
        name: Name of the rule to take; None: the best.
    """
    tried = sentences[:MOST_SENTENCES]
    words = [word for sentence in tried for word in sentence]
    as_characters = sum(map(_is_one_character, words)) >= SINGLE * len(words)
    texts = [join_words(sentence, as_characters) for sentence in tried]
    rules = [_try_rule(rule, tried, texts) for rule in (RULES if name is None else (name,))]
    return max(rules, key=lambda rule: rule.right)


def join_words(words: Sequence[str], as_characters: bool = False) -> str:
    """Join the words of a sentence to text as print has it.

    Signs such as commas stand behind the word before, opening brackets before the next word, hyphens and slashes
    between words without blanks; straight quotes open and close in turn. Between words of scripts without blanks, such
    as Chinese, there are none.

    Args:
        words: Words and signs of a sentence.
        as_characters: Whether the words are single characters, between which there are no blanks.
    """
    parts: list[str] = []
    is_quoted = glued = False
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        closes = is_quoted and word == '"'
        joins_words = bool(_BETWEEN.fullmatch(word)) and _is_word(before) and _is_word((*words, "")[place + 1])
        both_unspaced = bool(before and UNSPACED.match(before[-1]) and UNSPACED.match(word))
        no_blank = glued or closes or joins_words or both_unspaced or as_characters
        if place and not (no_blank or _NO_BLANK_BEFORE.fullmatch(word)):
            parts.append(" ")
        parts.append(word)
        is_quoted ^= word == '"'
        glued = joins_words or (is_quoted and word == '"') or bool(_NO_BLANK_AFTER.fullmatch(word))
    return "".join(parts)


def _try_rule(name: PreTokenizerName, sentences: Sequence[Sequence[str]], texts: Sequence[str]) -> CutRule:
    """Return a rule with the exceptions that the words of sentences call for, tried on their texts."""
    backend = build_pre_tokenizer(False, name).pre_tokenizer
    counts = Counter(word for sentence in sentences for word in sentence)
    cut = [
        word
        for word, number in counts.most_common()
        if number > 1 and len(word) > 1 and not word.isalnum() and len(backend.pre_tokenize_str(word)) > 1
    ]
    rules = [CutRule(name, exceptions, 0, sum(counts.values())) for exceptions in ((), tuple(cut[:MOST_EXCEPTIONS]))]
    if name == "whitespace" or not cut:
        rules = rules[:1]
    for number, rule in enumerate(rules):
        backend = build_pre_tokenizer(False, name, exceptions=rule.exceptions).pre_tokenizer
        found = [{span for _, span in backend.pre_tokenize_str(text)} for text in texts]
        right = sum(
            span in spans
            for sentence, text, spans in zip(sentences, texts, found, strict=True)
            for span in _find_spans(sentence, text)
        )
        rules[number] = replace(rule, right=right)
    return max(rules, key=lambda rule: rule.right)


def _find_spans(words: Sequence[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield first character and the one after the last of each word in the text that `join_words` gave of them."""
    end = 0
    for word in words:
        begin = text.index(word, end)
        end = begin + len(word)
        yield begin, end


def _is_word(text: str) -> bool:
    return bool(text) and text[-1].isalnum() and text[0].isalnum()


def _is_one_character(word: str) -> bool:
    return sum(not unicodedata.category(sign).startswith("M") for sign in word) == 1
