"""What a checkpoint predicts for rows of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from ctxzoo.data.answer_files import Answer
from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.reading_notes import skip_or_raise
from ctxzoo.data.rows import LINES, Row, RowStream
from ctxzoo.hub.row_pipeline import RowPipeline
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.tasks.regression.reader import VECTOR

TRUTH = {"true": 1.0, "false": 0.0}  # as columns of truth values are read in training


def predict_rows(checkpoint: str | Path | PreTrainedModel, rows: Sequence[Sequence[float]]) -> list[float]:
    """Predict the target of each row, in the unit of the target.

    The rows are read as one sequence, behind those of the training that the model keeps: what is predicted for one
    depends a little on the others.

    Args:
        checkpoint: Checkpoint folder or Hub id, or a loaded model, whose method `predict` does the same.
        rows: Feature values of each row to predict, in the order of `config.feature_names`.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: a checkpoint of another problem; rows of another width, or with what is no finite number.
    """
    model: Any = checkpoint if isinstance(checkpoint, PreTrainedModel) else load_saved_model(str(checkpoint))[0]
    if not hasattr(model, "context"):
        raise ValueError(f"a {type(model).__name__} predicts no numbers; expected one of regression")
    widths = sorted({len(row) for row in rows})
    if widths != [model.config.input_size]:
        raise ValueError(f"rows of {widths} numbers: expected {model.config.input_size} in each, one row or more")
    found: list[float] = model.predict(torch.tensor(rows, dtype=torch.float64))[:, 0].tolist()
    return found


def predict_intervals(
    checkpoint: str | Path | PreTrainedModel, rows: Sequence[Sequence[float]], level: float = 90
) -> list[tuple[float, float, float]]:
    """Predict the target of each row with an interval that holds `level` percent of such targets.

    The intervals are those of split conformal prediction from errors on the validation rows of the training; they are
    as wide for every row, and hold for rows like those.

    Args:
        checkpoint, rows: Checkpoint or model, and feature values, as in `predict_rows`.
        level: Share of new targets within their intervals, in percent, above 0 and below 100.

    Returns:
        (predicted, low, high) of each row, in the unit of the target.

    Raises:
        OSError, ValueError: see `predict_rows`; a model without intervals, or a level that its validation rows cannot
            vouch for.
    """
    model: Any = checkpoint if isinstance(checkpoint, PreTrainedModel) else load_saved_model(str(checkpoint))[0]
    predicted = predict_rows(model, rows)
    half_width = model.get_half_width(level)
    return [(value, value - half_width, value + half_width) for value in predicted]


class NumberAnswers:
    """The answers of a model to rows of a user's file, which hold its features by their names.

    The rows of a chunk are read together, see `predict_rows`.

    Args:
        model: Regression model with a method `predict`, which runs on the device where its weights are.
        interval: Share of targets in percent that the intervals in the answers are to hold; None: no intervals.

    Raises:
        ValueError: the model has no such intervals.
    """

    def __init__(self, model: Any, interval: float | None = None) -> None:
        self.model = model
        self.half_width = None if interval is None else model.get_half_width(interval)
        self.features: list[str] = model.config.feature_names
        self.rows = 0

    def __call__(self, rows: Sequence[Row], stream: RowStream) -> list[Answer | None]:
        """Predict the target of each row and return the answers in order; None for a row that is left out.

        Raises:
            TextFormatError: Columns are missing, all of which are named; a row holds what is no finite number.
        """
        features = [self._read_features(row, stream) for row in rows]
        known_features = [row for row in features if row is not None]
        predicted = iter(predict_rows(self.model, known_features) if known_features else [])
        return [None if row is None else self._build_answer(next(predicted)) for row in features]

    def _read_features(self, row: Row, stream: RowStream) -> list[float] | None:
        """Return the features of a row as numbers; None for a bad row that is skipped."""
        location = f"{stream.name}, row {self.rows}"
        self.rows += 1
        if isinstance(row.get(VECTOR), (list, tuple)):
            row = {**row, **{f"{VECTOR}{place}": value for place, value in enumerate(row[VECTOR])}}
        missing = [name for name in self.features if name not in row]
        if missing and (self.rows == 1 or stream.kind == LINES):
            raise TextFormatError(
                f"{location}: no column {', '.join(map(repr, missing))}; there are {list(row)}, expected "
                f"{self.features}"
            )
        try:
            return [_parse_finite_number(name, row.get(name)) for name in self.features]
        except ValueError as error:
            skip_or_raise(location, TextFormatError(f"{location}: {error}; fill it in or leave the row out"))
            return None

    def _build_answer(self, value: float) -> Answer:
        """Convert a predicted number to the answer that is written for a row."""
        answer = {self.model.config.target_name: value}
        if self.half_width is not None:
            name = self.model.config.target_name
            answer |= {f"{name}_low": value - self.half_width, f"{name}_high": value + self.half_width}
        fields = {f"predicted_{name}": number for name, number in answer.items()}
        return Answer(fields=fields, cells=[fields], alone=answer)


class RegressionPipeline(RowPipeline):
    """Predicts the number of rows: lists of features in the order of `feature_names`, or dicts by their names."""

    depth = 1

    def build_answers(self, *, interval: float | None = None) -> NumberAnswers:
        """Build the object that predicts the target of rows, with intervals that hold `interval` percent of targets."""
        return NumberAnswers(self.model, interval)

    def build_row(self, pipeline_input: Any, number: int) -> Row:
        """Return one input of the pipeline, a dict or a list of features, as a row."""
        if isinstance(pipeline_input, Mapping):
            return dict(pipeline_input)
        names = self.model.config.feature_names
        if len(pipeline_input) != len(names):
            raise ValueError(
                f"input {number} has {len(pipeline_input)} numbers; expected {len(names)}: {', '.join(names)}"
            )
        return dict(zip(names, pipeline_input, strict=True))


def _parse_finite_number(column: str, value: Any) -> float:
    """Return the value of a column, a number or its text, as a float.

    Raises:
        ValueError: It is none, or not finite.
    """
    message = f"no finite number in {column!r} but {str(value)[:40]!r}"
    try:
        number = TRUTH.get(value.strip().lower(), value) if isinstance(value, str) else value
        number = float(number)
    except (TypeError, ValueError) as error:
        raise ValueError(message) from error
    if not math.isfinite(number):
        raise ValueError(message)
    return number
