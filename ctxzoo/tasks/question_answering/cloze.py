"""Cloze questions from running text, to train a reader on before it sees questions that people asked.

A sentence loses one of its phrases, and another paragraph of the same article that has this phrase, and other rare
words of the sentence, is the context in which to find it (after Dhingra et al. 2018, "Simple and Effective
Semi-Supervised Question Answering"). Nobody annotates anything.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ctxzoo.models.tokenization_word_char import build_word_pre_tokenizer

PARAGRAPH_WORDS = range(40, 301)
SENTENCE_WORDS = range(8, 31)
LONGEST_PHRASE = 6  # words that are asked for
RARE = 2.5  # nats: a word of fewer than 8 % of the paragraphs
RARE_EDGE = 4.0  # nats: one of fewer than 2 %
SHARED_WORDS = 2  # rare words that sentence and context share, beside the answer
NAME_WEIGHT = 3  # how often a name or number is drawn, beside another phrase as long
SHINGLE = 8  # words in a row that two texts share only if one is from the other

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”)]?\s+(?=[\"“(]?[A-Z0-9])")
_PRE_TOKENIZER = build_word_pre_tokenizer()
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")


@dataclass(frozen=True)
class Article:
    """A title, and paragraphs of running text."""

    title: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True)
class _TokenizedText:
    """A text cut into words: as written, in lower case, and their offsets (first character, one after the last)."""

    written: list[str]
    lower: list[str]
    offsets: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.written)


@dataclass(frozen=True)
class _Cloze:
    """Words `first : last` of a sentence are asked for; they begin at word `place` of paragraph `paragraph`."""

    first: int
    last: int
    paragraph: int
    place: int
    overlap: float


def _tokenize_texts(texts: Iterable[str]) -> list[_TokenizedText]:
    """Split each text into words as written and in lower case, with their places in the text."""
    tokenized = []
    for text in texts:
        pieces = _PRE_TOKENIZER.pre_tokenize_str(text)
        written = [word for word, _ in pieces]
        tokenized.append(
            _TokenizedText(written, [word.lower() for word in written], [offsets for _, offsets in pieces])
        )
    return tokenized


def drop_overlapping_articles(articles: Iterable[Article], texts: Iterable[str]) -> tuple[list[Article], int]:
    """Leave out the articles that share eight words in a row with any of `texts`, such as the evaluation data.

    Args:
        articles: Articles, each with title and paragraphs, that are filtered.
        texts: Texts of the later test set, which must not occur in the articles.

    Returns:
        The articles that are left, and how many are not.
    """
    known_shingles = {shingle for words in _tokenize_texts(texts) for shingle in _generate_shingles(words)}
    distinct, left_out = [], 0
    for article in articles:
        shingles = (shingle for words in _tokenize_texts(article.paragraphs) for shingle in _generate_shingles(words))
        if any(shingle in known_shingles for shingle in shingles):
            left_out += 1
        else:
            distinct.append(article)
    return distinct, left_out


def generate_cloze_questions(
    articles: Sequence[Article], *, min_overlap: float = 15.0, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Make questions from sentences of articles by replacing an answer, at most one a sentence.

    A name, a number or a phrase of rare words is taken out of the sentence, and "what", "what year" or "how many" put
    in its place. The context is the paragraph of the same article, another one than the sentence's, that has the phrase
    and shares most with the rest of the sentence, measured by the information of the shared rare words, −Σ log(fraction
    of the paragraphs that have the word). Of several phrases that can be asked for, one is drawn: n words n² times as
    often as one word, and names and numbers three times as often as others, so that fewer answers are one plain word.

    Args:
        articles: Articles to make questions from; only paragraphs of 40 to 300 words are used.
        min_overlap: Least information, in nats, of the rare words that question sentence and context share; default 15.
        seed: Seed of the random draw.

    Yields:
        SQuAD's columns: id, title, context, question, answers.
    """
    tokenized = [(article.title, _tokenize_paragraphs(article)) for article in articles]
    counts = Counter(word for _, paragraphs in tokenized for _, words in paragraphs for word in set(words.lower))
    total = sum(len(paragraphs) for _, paragraphs in tokenized)
    information = {word: math.log(total / count) for word, count in counts.items()}
    draw = random.Random(seed)
    number = 0
    for title, paragraphs in tokenized:
        index = _ArticleIndex([words for _, words in paragraphs], information)
        for source, (text, _) in enumerate(paragraphs):
            for sentence in _tokenize_texts(_SENTENCE_END.split(text)):
                clozes = [cloze for cloze in index.find_clozes(sentence, source) if cloze.overlap >= min_overlap]
                if not clozes:
                    continue
                cloze = draw.choices(clozes, [_compute_sampling_weight(sentence, cloze) for cloze in clozes])[0]
                context, words = paragraphs[cloze.paragraph]
                begin = words.offsets[cloze.place][0]
                end = words.offsets[cloze.place + cloze.last - cloze.first - 1][1]
                yield {
                    "id": f"cloze{number}",
                    "title": title,
                    "context": context,
                    "question": _write_question(sentence, cloze),
                    "answers": {"text": [context[begin:end]], "answer_start": [begin]},
                }
                number += 1


class _ArticleIndex:
    """The paragraphs of one article, and which of them have a word."""

    def __init__(self, paragraphs: list[_TokenizedText], information: dict[str, float]) -> None:
        self._paragraphs = paragraphs
        self._information = information
        self._with_word: defaultdict[str, set[int]] = defaultdict(set)
        for number, words in enumerate(paragraphs):
            for word in words.lower:
                self._with_word[word].add(number)

    def find_clozes(self, sentence: _TokenizedText, source_paragraph: int) -> Iterator[_Cloze]:
        """Yield the best questions of a sentence of a paragraph; of answers that begin at one word, the longest."""
        if len(sentence) not in SENTENCE_WORDS:
            return
        for first, lasts in self._find_phrases(sentence):
            for last in lasts:
                clozes = list(self._find_clozes_of_phrase(sentence, first, last, source_paragraph))
                if clozes:
                    yield max(clozes, key=lambda cloze: (cloze.overlap, -cloze.paragraph))
                    break

    def _find_clozes_of_phrase(
        self, sentence: _TokenizedText, first: int, last: int, source_paragraph: int
    ) -> Iterator[_Cloze]:
        """Yield the questions that ask for the words `first` to `last` of a sentence, one for each other paragraph of
        the article that has the phrase and enough other rare words of the sentence.
        """
        answer = sentence.lower[first:last]
        candidates = set.intersection(*(self._with_word[word] for word in answer)) - {source_paragraph}
        if not candidates:
            return
        other_words = {
            word
            for word in (*sentence.lower[:first], *sentence.lower[last:])
            if self._information.get(word, 0.0) > RARE and word not in answer
        }
        for paragraph in candidates:
            shared = {word for word in other_words if paragraph in self._with_word[word]}
            if len(shared) < SHARED_WORDS:
                continue
            places = self._find_occurrences(sentence.written[first:last], paragraph)
            if places:
                overlap = math.fsum(self._information[word] for word in shared)  # the same in any order of a set
                yield _Cloze(first, last, paragraph, self._choose_occurrence(places, paragraph, shared), overlap)

    def _find_phrases(self, sentence: _TokenizedText) -> Iterator[tuple[int, list[int]]]:
        """Yield each place in a sentence where an answer can begin, with the places where it can end, the last first.

        They begin and end with a capitalised word, a number or a rare word, and hold no sign. None is a part of a name
        or of a word with a hyphen. The first word of the sentence, capitalised anyway, begins none.
        """
        words = sentence.written
        for first in range(1, len(words)):
            starts_inside_name = _are_parts_of_one_name(words[first - 1], words[first])
            if starts_inside_name or not self._can_begin_or_end_phrase(words[first]):
                continue
            lasts = []
            for last in range(first + 1, min(len(words), first + LONGEST_PHRASE) + 1):
                if not words[last - 1][0].isalnum():
                    break
                if self._can_begin_or_end_phrase(words[last - 1]) and not (
                    last < len(words) and _are_parts_of_one_name(words[last - 1], words[last])
                ):
                    lasts.append(last)
            yield first, lasts[::-1]

    def _can_begin_or_end_phrase(self, word: str) -> bool:
        """Return whether a word may be the first or last of an answer: a name, a number or a rare word."""
        return _is_name_or_number(word) or self._information.get(word, 0.0) > RARE_EDGE

    def _find_occurrences(self, phrase: list[str], paragraph: int) -> list[int]:
        """Return the positions in a paragraph at which a phrase occurs in the same case."""
        words = self._paragraphs[paragraph].written
        return [
            place
            for place in range(len(words) - len(phrase) + 1)
            if words[place] == phrase[0] and words[place : place + len(phrase)] == phrase
        ]

    def _choose_occurrence(self, positions: list[int], paragraph: int, shared_words: set[str]) -> int:
        """Return the position with most shared words near it, each weighted by 1 / (1 + its distance)."""
        others = [place for place, word in enumerate(self._paragraphs[paragraph].lower) if word in shared_words]
        return max(positions, key=lambda place: sum(1 / (1 + abs(other - place)) for other in others))


def _is_name_or_number(word: str) -> bool:
    """Return whether a word begins with a capital letter or a digit."""
    return word[0].isupper() or word[0].isdigit()


def _are_parts_of_one_name(left: str, right: str) -> bool:
    """Return whether two words that follow each other are parts of one name, date or compound."""
    return "-" in (left, right) or (_is_name_or_number(left) and _is_name_or_number(right))


def _tokenize_paragraphs(article: Article) -> list[tuple[str, _TokenizedText]]:
    """Return the paragraphs of an article that are neither too short nor too long, each with its words."""
    cut_ones = zip(article.paragraphs, _tokenize_texts(article.paragraphs), strict=True)
    return [(text, words) for text, words in cut_ones if len(words) in PARAGRAPH_WORDS]


def _compute_sampling_weight(sentence: _TokenizedText, cloze: _Cloze) -> int:
    """Return how much likelier than others a question is drawn: long answers that are names or numbers most."""
    return (cloze.last - cloze.first) ** 2 * (NAME_WEIGHT if _is_name_or_number(sentence.written[cloze.first]) else 1)


def _write_question(sentence: _TokenizedText, cloze: _Cloze) -> str:
    """Return the sentence as a question, with "what", "how many" or "what year" in place of the answer."""
    answer = sentence.written[cloze.first : cloze.last]
    if len(answer) == 1 and _YEAR.fullmatch(answer[0]):
        question_word = "what year"
    else:
        question_word = "how many" if answer[0][0].isdigit() else "what"
    words = [*sentence.written[: cloze.first], question_word, *sentence.written[cloze.last :]]
    while len(words) > 1 and not words[-1][0].isalnum():
        words.pop()
    return " ".join(words) + "?"


def _generate_shingles(words: _TokenizedText) -> Iterator[str]:
    """Yield each run of `SHINGLE` words of a text, joined by blanks, to find texts that share one."""
    for first in range(len(words) - SHINGLE + 1):
        yield " ".join(words.lower[first : first + SHINGLE])
