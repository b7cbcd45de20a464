"""The words that a classifier of texts knows."""

from __future__ import annotations

from dataclasses import dataclass

from ctxzoo.data.text_encoding import frequent_words_of_texts
from ctxzoo.models.tokenization_word import Cutter, WordTokenizer, build_word_tokenizer, word_cutter


@dataclass(frozen=True, kw_only=True)
class TextVocabulary:
    """How texts are cut into words, and which of these get an id: the most frequent have the lowest.

    Attributes:
        min_word_count: occurrences in the training texts that a word needs.
        lower_case, cutter, ngram_order, char_ngrams, ngram_buckets, char_ngram_buckets: as in `build_word_tokenizer`.

    Raises:
        ValueError: min_word_count below 1.
    """

    min_word_count: int = 3
    lower_case: bool = True
    cutter: Cutter = "whitespace"
    ngram_order: int = 1
    char_ngrams: tuple[int, int] | None = None
    ngram_buckets: int = 0
    char_ngram_buckets: int = 0

    def __post_init__(self) -> None:
        if self.min_word_count < 1:
            raise ValueError(f"min_word_count is {self.min_word_count}; expected 1 or more")

    def build_tokenizer(self, texts: list[str], max_length: int | None) -> WordTokenizer:
        """Return a tokenizer that knows the words of the training texts.

        Args:
            texts: of the training rows.
            max_length: known words to which the tokenizer cuts a text; None: no limit.

        Raises:
            ValueError: no word is frequent enough.
        """
        words = frequent_words_of_texts(word_cutter(self.lower_case, self.cutter), texts, self.min_word_count)
        if not words:
            raise ValueError(
                f"no word occurs {self.min_word_count} times in the {len(texts)} training texts; lower min_word_count"
            )
        return build_word_tokenizer(
            words,
            lower_case=self.lower_case,
            cutter=self.cutter,
            ngram_buckets=self.ngram_buckets,
            char_ngram_buckets=self.char_ngram_buckets,
            ngram_order=self.ngram_order,
            char_ngrams=self.char_ngrams,
            model_max_length=max_length,
        )
