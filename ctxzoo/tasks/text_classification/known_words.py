"""How many words of a text a classifier knows, and answers that say so where it knows none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from ctxzoo.data.notices import ROWS_FROM, format_count
from ctxzoo.data.text_encoding import find_frequent_words
from ctxzoo.models.old_names import with_old_arguments
from ctxzoo.models.tokenization_base import PAD_TOKEN
from ctxzoo.models.tokenization_word import (
    PreTokenizerName,
    WordTokenizer,
    build_pre_tokenizer,
    build_word_tokenizer,
    pre_tokenize,
)

MOST_SHOWN = 5  # rows that a note names
NO_KNOWN_WORD = "no_known_word"  # key of an answer, there and true for a text without a known word


def count_known_words(tokenizer: WordTokenizer, texts: Sequence[str]) -> list[int]:
    """Count the words of each text that are in the vocabulary, those behind the tokenizer's limit too.

    Hashed n-grams are no words: a text of new words has some, and none is known.
    """
    return [count_word_ids(ids, tokenizer) for ids in tokenizer(list(texts))["input_ids"]] if texts else []


def describe_texts_without_known_words(without: int, texts: int, rows: Sequence[int] = ()) -> str | None:
    """Write a note on texts of which no word is known; None where there is none.

    A model gives these texts an answer too, from nothing but what it answers anyway, or from n-grams.

    Args:
        without: Number of such texts.
        texts: Number of all texts.
        rows: Rows of the first `MOST_SHOWN` of them in their file, from 0, which the note names; empty: the texts come
            from no file.
    """
    if not without:
        return None
    location = ""
    if rows:
        location = f" (row {', '.join(map(str, rows))}{', …' if without > len(rows) else ''}; {ROWS_FROM})"
    return (
        f"the model knows no word of {without:,} of {format_count(texts, 'texts')}{location}; "
        "do not rely on their labels"
    )


def count_word_ids(ids: Sequence[int], tokenizer: Any) -> int:
    """Return how many ids are words: not padding, and not one of the n-grams, which come after the words."""
    return sum(0 < index < len(tokenizer) for index in ids)


@with_old_arguments
@dataclass(frozen=True, kw_only=True)
class TextVocabulary:
    """How texts are cut into words, and which of these get an id: the most frequent have the lowest.

    Attributes:
        min_word_count: Least number of occurrences in the training texts for a word to enter the vocabulary.
        lower_case, pre_tokenizer, ngram_order, char_ngrams, ngram_buckets, char_ngram_buckets: Lower-casing, name of
            the pre-tokenizer, and sizes of word and character n-grams with their hash buckets, as in
            `build_word_tokenizer`.

    Raises:
        ValueError: min_word_count below 1.
    """

    min_word_count: int = 3
    lower_case: bool = True
    pre_tokenizer: PreTokenizerName = "whitespace"
    ngram_order: int = 1
    char_ngrams: tuple[int, int] | None = None
    ngram_buckets: int = 0
    char_ngram_buckets: int = 0

    def __post_init__(self) -> None:
        if self.min_word_count < 1:
            raise ValueError(f"min_word_count is {self.min_word_count}; expected 1 or more")

    def find_words(self, texts: list[str]) -> list[str]:
        """Return the words of the training texts that are frequent enough, the most frequent first.

        Raises:
            ValueError: there is none.
        """
        words = find_frequent_words(
            build_pre_tokenizer(self.lower_case, self.pre_tokenizer), texts, self.min_word_count
        )
        if not words:
            raise ValueError(
                f"no word occurs {self.min_word_count} times in the {len(texts)} training texts; lower min_word_count"
            )
        return words

    def select_further_words(self, candidates: Sequence[str], words: Sequence[str]) -> list[str]:
        """Return the candidates that a text can give and that are not among the words."""
        pre_tokenizer = build_pre_tokenizer(self.lower_case, self.pre_tokenizer)
        known = {*words, PAD_TOKEN}
        return [word for word in candidates if word not in known and pre_tokenize(pre_tokenizer, word) == [word]]

    def build_tokenizer(
        self, words: Sequence[str], max_length: int | None, encoder_tokenizer: Tokenizer | None = None
    ) -> WordTokenizer:
        """Return a tokenizer that knows these words.

        Args:
            words: Words in the order of their ids.
            max_length: Largest number of known words of a text, beyond which the tokenizer truncates it; None: no
                limit.
            encoder_tokenizer: Tokenizer of an encoder that reads the words, the unknown ones too; None: none.
        """
        return build_word_tokenizer(
            words,
            lower_case=self.lower_case,
            pre_tokenizer=self.pre_tokenizer,
            ngram_buckets=self.ngram_buckets,
            char_ngram_buckets=self.char_ngram_buckets,
            ngram_order=self.ngram_order,
            char_ngrams=self.char_ngrams,
            model_max_length=max_length,
            keep_unknown=encoder_tokenizer is not None,
            encoder_tokenizer=encoder_tokenizer,
        )
