"""How legislators vote on a new bill, by a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.models.ops_vote import NEW_BILL


def predict_votes(
    checkpoint: str | Path | PreTrainedModel, text: str, bill: str | int = NEW_BILL
) -> list[tuple[str, float]]:
    """Return (name, probability of a yea) of each legislator for a bill, of which no vote is known.

    Args:
        checkpoint: folder or Hub id, or a model, whose method `predict_votes` does the same.
        text: of the bill.
        bill: The name of one of the training, where 10 and "10" are one name; -1: it is new.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: a checkpoint of another problem, an unknown bill, or a new one and a model that knows those of its
            training alone.
    """
    model: Any = checkpoint if isinstance(checkpoint, PreTrainedModel) else load_saved_model(str(checkpoint))[0]
    if not hasattr(model, "predict_votes"):
        raise ValueError(f"a {type(model).__name__} predicts no votes; expected one of vote-prediction")
    found: list[tuple[str, float]] = model.predict_votes(text, bill)
    return found
