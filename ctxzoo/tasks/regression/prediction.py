"""What a checkpoint predicts for rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from ctxzoo.hub.saved_model import load_saved_model


def predict_rows(checkpoint: str | Path | PreTrainedModel, rows: Sequence[Sequence[float]]) -> list[float]:
    """Return what is predicted for each row, in the unit of the target.

    The rows are read as one sequence, behind those of the training that the model keeps: what is predicted for one
    depends a little on the others.

    Args:
        checkpoint: folder or Hub id, or a model, whose method `predict` does the same.
        rows: the features of each, in the order of `config.feature_names`.

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
