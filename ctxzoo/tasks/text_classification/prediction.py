"""Labels of texts with all their probabilities, and what a model could not read of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.formats import LABEL_SEPARATORS
from ctxzoo.data.notices import format_count
from ctxzoo.data.rows import LINES, Row, RowStream
from ctxzoo.data.text_columns import ColumnNames, TextsOfRows
from ctxzoo.data.text_encoding import generate_text_batches
from ctxzoo.hub.classification_facts import get_label_names
from ctxzoo.hub.folder_files import TOKENIZER_FILES, read_json_object
from ctxzoo.hub.saved_model import fetch_checkpoint_files
from ctxzoo.metrics.label_threshold import get_label_threshold
from ctxzoo.models.configuration_base import SEVERAL_LABELS
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.runs.processes import SharedWork
from ctxzoo.tasks.text_classification.known_words import (
    MOST_SHOWN,
    NO_KNOWN_WORD,
    describe_texts_without_known_words,
)

if TYPE_CHECKING:
    from ctxzoo.models.tokenization_word import WordTokenizer

# Options of reading that a training was told, each with its entry of tokenizer_config.json.
RECORDED = {"text_column": "text_columns", "label_separator": "label_separator", "label_columns": "label_columns"}
LEFT_OUT = "words_left_out"
UNSURE = "unsure"
AUTO = "auto"  # the threshold that the training has chosen
SHARED_TEXTS = 500  # texts from which on processes share them


class TextAnswers:
    """The answers of a classifier to rows of a user's file.

    Args:
        model: Text classifier, which runs on the device where its weights are.
        tokenizer: Tokenizer that the model was trained with.
        text_column: Name of the text column, or several to join; default: the first usual name that is there, such as
            text.
        batch_size: Number of texts in a batch; of short ones more, see `generate_text_batches`.
        keeps_texts: Whether all texts are kept in the attribute `texts`, for writing an HTML page.
        unsure_below: Probability below which a prediction is flagged as unsure; None: no prediction has a flag.
        processes: Number of processes that share many texts; only where nothing has been computed yet, on a CPU.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: WordTokenizer,
        *,
        text_column: ColumnNames = None,
        batch_size: int = 32,
        keeps_texts: bool = False,
        unsure_below: float | None = None,
        processes: int = 1,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.work = partial(classify_texts, model, tokenizer, batch_size=batch_size)
        self._share = None if processes == 1 else SharedWork(self.work, processes)
        self.keeps_texts = keeps_texts
        self.texts_of = TextsOfRows(text_column)
        self.unsure_below = unsure_below
        self.separator = choose_separator(get_label_names(model.config), tokenizer)
        self.texts: list[str] = []
        self.number = 0  # texts so far, of which so many are unsure, are longer than the limit, have no known word
        self.unsure = self.cut = self.unknown = 0
        self.left_out = 0  # known words behind the limit
        self.unknown_rows: list[int] = []  # of a file, from 0: the first of texts without a known word

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer | None]:
        """Return the answers to rows, in their order; None for a row without a text."""
        begin = self.texts_of.rows
        texts = self.texts_of(rows, stream.name, stream.kind == LINES)
        read = [row for row, text in enumerate(texts, start=begin) if text is not None]
        predictions = iter(self.classify([text for text in texts if text is not None], read))
        return [
            None if text is None else _build_answer(next(predictions), self.separator, self.unsure_below)
            for text in texts
        ]

    def classify(self, texts: Sequence[str], rows: Sequence[int] = ()) -> list[dict[str, Any]]:
        """Classify texts as `classify_texts` does, and count what `write_notes` reports.

        `rows` are those of the texts in their file, from 0; empty: they come from no file.
        """
        if self.keeps_texts:
            self.texts += texts
        answers = (self.work if self._share is None or len(texts) < SHARED_TEXTS else self._share)(texts)
        self.number += len(answers)
        self.unsure += sum(one["score"] < (self.unsure_below or 0) for one in answers)
        self.cut += sum(LEFT_OUT in one for one in answers)
        self.left_out += sum(one.get(LEFT_OUT, 0) for one in answers)
        unknown = [place for place, one in enumerate(answers) if NO_KNOWN_WORD in one]
        self.unknown += len(unknown)
        if rows:
            shown = unknown[: MOST_SHOWN - len(self.unknown_rows)]
            self.unknown_rows += [rows[place] for place in shown]
        return answers

    def write_notes(self) -> list[str]:
        """Return a line on texts longer than the limit, one on unsure ones, and one on those without a known word."""
        notes, texts = [], format_count(self.number, "texts")
        if self.cut:
            limit = format_count(self.tokenizer.word_limit or 0, "words")
            notes.append(
                f"the model reads the first {limit} that it knows: {self.left_out:,} behind them were left out, in "
                f"{self.cut:,} of {texts}"
            )
        if self.unsure_below is not None:
            notes.append(f"{self.unsure:,} of {texts} have a probability below {self.unsure_below:g}, unsure")
        unknown = describe_texts_without_known_words(self.unknown, self.number, self.unknown_rows)
        return [*notes, *([unknown] if unknown else [])]


def choose_separator(names: Sequence[str], tokenizer: Any) -> str:
    """Return the sign between several labels in a cell: that of the training, or one that no label has."""
    recorded = getattr(tokenizer, "init_kwargs", {}).get(RECORDED["label_separator"])
    unused = (sign for sign in LABEL_SEPARATORS if not any(sign in name for name in names))
    return recorded or next(unused, LABEL_SEPARATORS[0])


def resolve_unsure(text: str | None, config: Any) -> float | None:
    """Return the probability below which predictions are unsure, from what was typed for `--unsure`.

    Args:
        text: Typed text, a number from 0 to 1 or "auto"; None: nothing was typed.
        config: Configuration of the model, whose `unsure_below` "auto" is.

    Raises:
        ValueError: neither; "auto" of a model without such a threshold.
    """
    if text is None:
        return None
    if text == AUTO:
        if getattr(config, "unsure_below", None) is None:
            raise ValueError(
                "--unsure auto: the training of this checkpoint has chosen no threshold (no validation rows, all of "
                "them right, or an earlier version); give a number, such as --unsure .7"
            )
        return float(config.unsure_below)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError(f"--unsure {text}: expected a probability from 0 to 1, or {AUTO}")
    return value


def classify_texts(
    model: Any, tokenizer: WordTokenizer, texts: Sequence[str], *, batch_size: int = 32
) -> list[dict[str, Any]]:
    """Classify texts; return for each the most probable `label`, its `score`, and all `probabilities` by label.

    Where a text may have several labels, `labels` are those whose probability is at the model's threshold or above, the
    most probable first, and `score` is the probability that the least sure of them, given or not, is right.
    Texts are cut at the `word_limit` of the tokenizer, where it has one; those that are longer also have
    `words_left_out`, the number of known words behind it. Those without a known word have `no_known_word`.
    """
    several = model.config.problem_type == SEVERAL_LABELS
    names = get_label_names(model.config)
    answers: list[dict[str, Any]] = [{}] * len(texts)
    with in_evaluation_mode(model):
        for rows, batch, numbers in generate_text_batches(tokenizer, texts, batch_size):
            inputs = {name: torch.from_numpy(array).to(model.device) for name, array in batch.items()}
            logits = model(**inputs).logits.float()
            probabilities = (logits.sigmoid() if several else logits.softmax(dim=1)).cpu().tolist()
            for row, of_labels, known, left_out in zip(rows, probabilities, *numbers, strict=False):  # then filling
                by_name = dict(zip(names, of_labels, strict=True))
                answers[row] = {
                    **(
                        choose_labels(by_name, get_label_threshold(model.config)) if several else _choose_label(by_name)
                    ),
                    "probabilities": by_name,
                    **({LEFT_OUT: left_out} if left_out else {}),
                    **({} if known else {NO_KNOWN_WORD: True}),
                }
    return answers


def _choose_label(probabilities: Mapping[str, float]) -> dict[str, Any]:
    """Return the most probable `label` and its `score`."""
    label = max(probabilities, key=probabilities.__getitem__)
    return {"label": label, "score": probabilities[label]}


def choose_labels(probabilities: Mapping[str, float], threshold: float) -> dict[str, Any]:
    """Return the `labels` from a threshold on, the most probable first, and the probability of the least sure decision.

    Args:
        probabilities: Probability of each label, by name.
        threshold: Probability from which a label is given.
    """
    given = sorted(
        (name for name, one in probabilities.items() if one >= threshold), key=lambda name: -probabilities[name]
    )
    score = min(one if one >= threshold else 1 - one for one in probabilities.values())
    return {"labels": given, "score": score}


def drop_probabilities(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer of `classify_texts` without its probabilities, as for a .json file and the terminal."""
    return {name: value for name, value in answer.items() if name != "probabilities"}


def read_recorded_columns(checkpoint: str) -> dict[str, Any]:
    """Return by name the options of reading that the training of a checkpoint was told, those of `RECORDED`.

    Raises:
        OSError, ValueError: There is no such checkpoint, or it is damaged.
    """
    name = TOKENIZER_FILES[1]
    content = read_json_object(fetch_checkpoint_files(checkpoint, name) / name)
    return {option: content[entry] for option, entry in RECORDED.items() if content.get(entry)}


def _build_answer(prediction: dict[str, Any], separator: str, unsure_below: float | None) -> Answer:
    """Return the answer to a row from a prediction of `classify_texts`.

    Args:
        prediction: Prediction for the text of the row.
        separator: Sign between several labels in one cell of a CSV file.
        unsure_below: Probability below which the row is flagged as `unsure`; None: rows have no flag.
    """
    label_fields: dict[str, Any] = {"predicted_probability": prediction["score"]}
    if "labels" in prediction:
        label_fields = {"predicted_labels": prediction["labels"], **label_fields}
        in_cell = {"predicted_labels": separator.join(prediction["labels"])}
    else:
        label_fields = {"predicted_label": prediction["label"], **label_fields}
        in_cell = {}
    unsure = {} if unsure_below is None else {UNSURE: prediction["score"] < unsure_below}
    unread = {LEFT_OUT: prediction.get(LEFT_OUT, 0), NO_KNOWN_WORD: NO_KNOWN_WORD in prediction}
    probability_fields = {f"probability_{name}": value for name, value in prediction["probabilities"].items()}
    return Answer(
        fields={**label_fields, **unsure, "probabilities": prediction["probabilities"], **unread},
        cells=[{**label_fields, **in_cell, **unsure, **probability_fields, **unread}],
        alone={**drop_probabilities(prediction), **unsure},
    )
