"""What a checkpoint expects after a history of events at times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ctxzoo.hub.saved_model import load_saved_model


def next_events(
    checkpoint: str | Path | PreTrainedModel, history: Sequence[str | int], timestamps: Sequence[float], k: int = 5
) -> list[tuple[str, float]]:
    """Return the k events that are likeliest to come after a history, the likeliest first.

    Args:
        checkpoint: folder or Hub id, or a model, whose method `next_events` does the same.
        history: events in the order of time, as names or ids from 1.
        timestamps: a number for each, in the unit of the training data.
        k: number of events.

    Returns:
        (name, probability) of each.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: a checkpoint of another problem, an empty history, an unknown event, other timestamps, or a k that
            cannot be.
    """
    model: Any = checkpoint if isinstance(checkpoint, PreTrainedModel) else load_saved_model(str(checkpoint))[0]
    if not hasattr(model, "next_events"):
        raise ValueError(f"a {type(model).__name__} predicts no events; expected one of next-event")
    found: list[tuple[str, float]] = model.next_events(history, timestamps, k)
    return found
