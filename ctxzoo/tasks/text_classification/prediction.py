"""Labels of texts with all their probabilities, and what a model could not read of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.notices import format_count
from ctxzoo.data.row_stream import LINES, Row, RowStream
from ctxzoo.data.text_columns import ColumnNames, TextsOfRows
from ctxzoo.hub.classification_facts import get_label_names
from ctxzoo.hub.folder_files import TOKENIZER_FILES, read_json_object
from ctxzoo.hub.saved_model import fetch_checkpoint_files
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.tasks.text_classification.known_words import (
    NO_KNOWN_WORD,
    count_word_ids,
    describe_texts_without_known_words,
)

if TYPE_CHECKING:
    from ctxzoo.models.tokenization_word import WordTokenizer

RECORDED = "text_columns"  # entry of tokenizer_config.json: the columns that a training was told to read
LEFT_OUT = "words_left_out"


class TextAnswers:
    """The answers of a classifier to rows of a user's file.

    Args:
        model: Text classifier, which runs on the device where its weights are.
        tokenizer: Tokenizer that the model was trained with.
        text_column: Name of the text column, or several to join; default: the first usual name that is there, such as
            text.
        batch_size: Number of texts in a batch.
        keeps_texts: Whether all texts are kept in the attribute `texts`, for writing an HTML page.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: WordTokenizer,
        *,
        text_column: ColumnNames = None,
        batch_size: int = 32,
        keeps_texts: bool = False,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.batch_size = batch_size
        self.keeps_texts = keeps_texts
        self.texts_of = TextsOfRows(text_column)
        self.texts: list[str] = []
        self.rows: list[int] = []  # of each text of a file so far, from 0
        self.known: list[bool] = []  # of each text so far, whether it has a known word
        self.left_out: list[int] = []  # the known words behind the limit

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer | None]:
        """Return the answers to rows, in their order; None for a row without a text."""
        begin = self.texts_of.rows
        texts = self.texts_of(rows, stream.name, stream.kind == LINES)
        self.rows += [row for row, text in enumerate(texts, start=begin) if text is not None]
        predictions = iter(self.classify([text for text in texts if text is not None]))
        return [None if text is None else _build_answer(next(predictions)) for text in texts]

    def classify(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Classify texts as `classify_texts` does, and count what `write_notes` reports."""
        if self.keeps_texts:
            self.texts += texts
        answers = classify_texts(self.model, self.tokenizer, texts, batch_size=self.batch_size)
        self.known += [NO_KNOWN_WORD not in one for one in answers]
        self.left_out += [one.get(LEFT_OUT, 0) for one in answers]
        return answers

    def write_notes(self) -> list[str]:
        """Return a line on texts that are longer than the limit, and one on those without a known word, if any."""
        numbers = [number for number in self.left_out if number]
        unknown = describe_texts_without_known_words(self.known, self.rows)
        return [
            *(
                [
                    f"the model reads the first {format_count(self.tokenizer.word_limit or 0, 'words')} that it knows: "
                    f"{sum(numbers):,} behind them were left out, in {len(numbers):,} of "
                    f"{format_count(len(self.left_out), 'texts')}"
                ]
                if numbers
                else []
            ),
            *([unknown] if unknown else []),
        ]


def classify_texts(
    model: Any, tokenizer: WordTokenizer, texts: Sequence[str], *, batch_size: int = 32
) -> list[dict[str, Any]]:
    """Classify texts; return for each the most probable `label`, its `score`, and all `probabilities` by label.

    Texts are cut at the `word_limit` of the tokenizer, where it has one; those that are longer also have
    `words_left_out`, the number of known words behind it. Those without a known word have `no_known_word`.
    """
    limited = tokenizer.word_limit is not None
    names = get_label_names(model.config)
    answers: list[dict[str, Any]] = [{}] * len(texts)
    # Texts of nearly the same length share a batch, so that little is padded.
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    with in_evaluation_mode(model):
        for begin in range(0, len(order), batch_size):
            rows = order[begin : begin + batch_size]
            words = tokenizer(
                [texts[row] for row in rows], padding=True, truncation=limited, return_overflowing_tokens=limited
            )
            # Texts without any id are a column of padding, as in training.
            filler = {"input_ids": tokenizer.pad_token_id, "attention_mask": 0}
            inputs = {
                name: torch.tensor([ids or [empty] for ids in words[name]], device=model.device)
                for name, empty in filler.items()
            }
            probabilities = model(**inputs).logits.float().softmax(dim=1).cpu().tolist()
            beyond = words["num_truncated_tokens"] if limited else [0] * len(rows)
            for row, of_labels, ids, left_out in zip(rows, probabilities, words["input_ids"], beyond, strict=True):
                best = max(range(len(names)), key=of_labels.__getitem__)
                answers[row] = {
                    "label": names[best],
                    "score": of_labels[best],
                    "probabilities": dict(zip(names, of_labels, strict=True)),
                    **({LEFT_OUT: left_out} if left_out else {}),
                    **({} if count_word_ids(ids, tokenizer) else {NO_KNOWN_WORD: True}),
                }
    return answers


def drop_probabilities(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer of `classify_texts` without its probabilities, as for a .json file and the terminal."""
    return {name: value for name, value in answer.items() if name != "probabilities"}


def read_text_columns(checkpoint: str) -> list[str] | None:
    """Return the columns of texts that the training of a checkpoint was told to read; None: the usual one.

    Raises:
        OSError, ValueError: There is no such checkpoint, or it is damaged.
    """
    name = TOKENIZER_FILES[1]
    return read_json_object(fetch_checkpoint_files(checkpoint, name) / name).get(RECORDED)


def _build_answer(prediction: dict[str, Any]) -> Answer:
    label_fields = {"predicted_label": prediction["label"], "predicted_probability": prediction["score"]}
    unread = {LEFT_OUT: prediction.get(LEFT_OUT, 0), NO_KNOWN_WORD: NO_KNOWN_WORD in prediction}
    probability_fields = {f"probability_{name}": value for name, value in prediction["probabilities"].items()}
    return Answer(
        fields={**label_fields, "probabilities": prediction["probabilities"], **unread},
        cells=[{**label_fields, **probability_fields, **unread}],
        alone=drop_probabilities(prediction),
    )
