"""What a checkpoint expects after a history of events at times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ctxzoo.data.event_rows import seconds_of
from ctxzoo.hub.saved_model import load_saved_model


def next_events(
    checkpoint: str | Path | PreTrainedModel,
    history: Sequence[str | int],
    timestamps: Sequence[Any],
    k: int | None = None,
) -> list[tuple[str, float]]:
    """Return the k events that are likeliest to come after a history, the likeliest first.

    Args:
        checkpoint: folder or Hub id, or a model, whose method `next_events` does the same.
        history: Names of events in the order of time, as in the data of the training: 10, as a number of any kind, and
            "10" are the event called "10". The last ones are read, as many as predictions of the training saw at most.
        timestamps: A number for each, in the unit of the training data, or a date or time where those were dates; see
            `ctxzoo.data.event_rows.seconds_of`.
        k: Number of events; default: 10, or all where there are fewer.

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
    found: list[tuple[str, float]] = model.next_events(history, seconds_of(timestamps), k)
    return found
