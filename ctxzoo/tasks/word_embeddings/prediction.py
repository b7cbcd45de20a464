"""Words for the masks of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import skip_or_raise
from ctxzoo.data.rows import LINES, Row, RowStream
from ctxzoo.data.text_columns import ColumnNames, TextsOfRows
from ctxzoo.tasks.word_embeddings.corpus import LONGEST_SENTENCE

if TYPE_CHECKING:
    from transformers import FillMaskPipeline

WORDS_SHOWN = 5


class MaskAnswers:
    """The answers of a model of masked words to rows of a user's file, whose texts have one mask each.

    Args:
        filler: Fill-mask pipeline of a checkpoint.
        text_column: Name of the text column, or several to join; default: the first usual name that is there, such as
            text.
        batch_size: Number of texts in a batch.
    """

    def __init__(self, filler: FillMaskPipeline, *, text_column: ColumnNames = None, batch_size: int = 32) -> None:
        self.filler = filler
        self.batch_size = batch_size
        self.texts_of = TextsOfRows(text_column)

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer | None]:
        """Predict the masked word of each row and return the answers in order; None for a row that is left out."""
        begin = self.texts_of.rows
        texts = self.texts_of(rows, stream.name, stream.kind == LINES)
        for number, text in enumerate(texts):
            wrong = None if text is None else _find_mask_error(self.filler, text)
            if wrong is not None:
                where = f"{stream.name}, row {begin + number}"
                skip_or_raise(where, TextFormatError(f"{where}: {wrong}"))
                texts[number] = None
        texts_to_fill = [text for text in texts if text is not None]
        predictions = iter(fill_masks(self.filler, texts_to_fill, batch_size=self.batch_size) if texts_to_fill else [])
        return [None if text is None else _format_answer(next(predictions)) for text in texts]


def fill_masks(filler: FillMaskPipeline, texts: list[str], *, batch_size: int = 32) -> list[list[dict[str, Any]]]:
    """Return the most probable words for the one mask of each text, with their probabilities, best first.

    Of a long text, such as a file of one line, the 1,000 words on each side of the mask are read, as many as a sentence
    of a training has.

    Raises:
        ValueError: a text with no mask, or with several.
    """
    wrong = next((told for text in texts if (told := _find_mask_error(filler, text))), None)
    if wrong is not None:
        raise ValueError(wrong)
    near = [_crop_around_mask(text, str(filler.tokenizer.mask_token)) for text in texts]
    predictions = filler(near, top_k=WORDS_SHOWN, batch_size=batch_size)
    rows = [predictions] if len(texts) == 1 else predictions
    return [[{"word": each["token_str"], "score": each["score"]} for each in row] for row in rows]


def _find_mask_error(filler: FillMaskPipeline, text: str) -> str | None:
    """Return why the masked word of a text cannot be predicted; None if it has exactly one mask."""
    mask = filler.tokenizer.mask_token
    if text.count(mask) == 1:
        return None
    return f"{text[:80]!r} has {text.count(mask)} {mask}; expected one, for the word to predict"


def _crop_around_mask(text: str, mask: str) -> str:
    """Return the part of a text with at most `LONGEST_SENTENCE` words on each side of its mask."""
    before, after = text.split(mask)
    if len(first := before.rsplit(maxsplit=LONGEST_SENTENCE)) > LONGEST_SENTENCE:
        before = before[len(first[0]) :]
    if len(last := after.split(maxsplit=LONGEST_SENTENCE)) > LONGEST_SENTENCE:
        after = after[: len(after) - len(last[-1])]
    return before + mask + after


def _format_answer(predicted_words: Sequence[dict[str, Any]]) -> Answer:
    """Convert the words predicted for a mask to the answer that is written for a row."""
    cells: dict[str, Any] = {}
    for place in range(WORDS_SHOWN):
        one = predicted_words[place] if place < len(predicted_words) else {"word": "", "score": None}
        cells |= {f"predicted_word_{place + 1}": one["word"], f"probability_{place + 1}": one["score"]}
    return Answer(fields={"predicted_words": predicted_words}, cells=[cells], alone=predicted_words)
