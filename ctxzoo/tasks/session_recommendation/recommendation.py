"""What a checkpoint recommends after a history of items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ctxzoo.hub.saved_model import load_saved_model


def recommend(
    checkpoint: str | Path | PreTrainedModel,
    history: Sequence[str | int],
    k: int | None = None,
    *,
    only_new: bool = False,
) -> list[tuple[str, float]]:
    """Return the k items that are likeliest to come after a history, the likeliest first.

    Args:
        checkpoint: folder or Hub id, or a model, whose method `recommend` does the same.
        history: Names of items in the order of time, as in the data of the training: 10, as a number of any kind, and
            "10" are the item called "10". The last ones are read, as many as predictions of the training saw at most.
        k: Number of items; default: 10, or all that can be recommended where they are fewer.
        only_new: Whether to leave out the items of the whole history.

    Returns:
        (name, probability) of each.

    Raises:
        OSError: there is no such checkpoint.
        ValueError: a checkpoint of another problem, an empty history, an unknown item, or a k that cannot be.
    """
    model: Any = checkpoint if isinstance(checkpoint, PreTrainedModel) else load_saved_model(str(checkpoint))[0]
    if not hasattr(model, "recommend"):
        raise ValueError(f"a {type(model).__name__} recommends nothing; expected one of session-recommendation")
    found: list[tuple[str, float]] = model.recommend(history, k, only_new=only_new)
    return found
