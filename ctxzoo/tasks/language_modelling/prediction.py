"""Continuations of the texts of a user's file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.row_stream import LINES, Row, RowStream
from ctxzoo.data.text_columns import ColumnNames, TextsOfRows
from ctxzoo.tasks.language_modelling.continuation import continue_text

if TYPE_CHECKING:
    from ctxzoo.models.tokenization_word import WordTokenizer


class Continuations:
    """The answers of a language model to rows of a user's file, each the beginning of a line.

    Args:
        model: With `generate`; it computes where it is.
        tokenizer: Of the model.
        text_column: The column of the texts; default: the usual names.
        words: To add at most.
        temperature: See `continue_text`.
        seed: Of the draws for the first text; each has the next one, whatever is read with it.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: WordTokenizer,
        *,
        text_column: ColumnNames = None,
        words: int,
        temperature: float,
        seed: int,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.texts_of = TextsOfRows(text_column)
        self.words = words
        self.temperature = temperature
        self.seed = seed

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer | None]:
        """Return the answers to rows, in their order; None for a row without a text."""
        begin = self.texts_of.rows
        texts = self.texts_of(rows, stream.name, stream.kind == LINES)
        found: list[Answer | None] = []
        for number, text in enumerate(texts, start=begin):
            if text is None:
                found.append(None)
                continue
            (added,) = self.of([text], first=number)
            told = {"continuation": added}
            found.append(Answer(fields=told, cells=[told], alone={"prompt": text, **told}))
        return found

    def of(self, prompts: Sequence[str], first: int = 0) -> list[str]:
        """Return the continuation of each prompt, of which the first has the number `first`."""
        return [
            continue_text(
                self.model,
                self.tokenizer,
                prompt,
                self.words,
                temperature=self.temperature,
                seed=self.seed + number,
            )
            for number, prompt in enumerate(prompts, start=first)
        ]
