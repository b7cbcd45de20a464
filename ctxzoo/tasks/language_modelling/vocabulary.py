"""The words that a language model knows, and its tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ctxzoo.data.text_encoding import frequent_words_of_texts
from ctxzoo.models.tokenization_word import Cutter, WordTokenizer, build_word_tokenizer, word_cutter
from ctxzoo.tasks.language_modelling.reader import END_MARK

UNKNOWN_WORD = "<unk>"  # what texts whose rare words were replaced hold in their place


@dataclass(frozen=True, kw_only=True)
class LineVocabulary:
    """How lines are cut into words, and which of these get an id: the most frequent have the lowest.

    Attributes:
        min_word_count: occurrences in the training lines that a word needs.
        lower_case, cutter: as in `build_word_tokenizer`.

    Raises:
        ValueError: min_word_count below 1.
    """

    min_word_count: int = 1
    lower_case: bool = True
    cutter: Cutter = "whitespace"

    def __post_init__(self) -> None:
        if self.min_word_count < 1:
            raise ValueError(f"min_word_count is {self.min_word_count}; expected 1 or more")

    def build_tokenizer(self, lines: list[str]) -> WordTokenizer:
        """Return a tokenizer that knows the words of the training lines and the end mark, its `eos_token`.

        Other words are read as `unk_token`: `UNKNOWN_WORD` where the lines have it as a word, else "[UNK]".

        Args:
            lines: of the training rows.

        Raises:
            ValueError: no word is frequent enough; see also `build_word_tokenizer`.
        """
        words = frequent_words_of_texts(word_cutter(self.lower_case, self.cutter), lines, self.min_word_count)
        if not words:
            raise ValueError(
                f"no word occurs {self.min_word_count} times in the {len(lines)} training lines; lower min_word_count"
            )
        is_marked = UNKNOWN_WORD in words
        unknown: dict[str, Any] = {"unk_token": UNKNOWN_WORD} if is_marked else {}
        return build_word_tokenizer(
            [END_MARK, *words],
            lower_case=self.lower_case,
            cutter=self.cutter,
            keep_unknown=not is_marked,
            eos_token=END_MARK,
            **unknown,
        )


def predicted_words(tokenizer: WordTokenizer) -> int:
    """Return the number of words that may come next: all of the vocabulary, the end mark too, padding not."""
    return len(tokenizer) - 1
