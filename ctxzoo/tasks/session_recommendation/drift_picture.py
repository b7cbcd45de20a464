"""The drift gate of HCRNN along a session: how much of the state it keeps at each item."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.results.figures import new_figure, save_figure, shown_word
from ctxzoo.training.scoring import in_evaluation_mode

QUARTERS = (25, 50, 75)


def drift_gates(model: ZooPreTrainedModel, history: Sequence[str | int]) -> NDArray[np.float32]:
    """Return the drift gate of each step and unit while a history is read.

    Args:
        model: an HCRNN of version 2, whose reset gate it is, or 3.
        history: Names of items in the order of time, as in the data of the training; 10 and "10" are one name.

    Returns:
        (T, H), from 0, all is forgotten, to 1.

    Raises:
        ValueError: a model without a drift gate; an empty history, or an unknown item.
    """
    recommender: Any = model
    if not hasattr(recommender, "ids_of"):
        raise ValueError(f"a {type(model).__name__} reads no items; expected an HcrnnForNextItem")
    ids = torch.tensor([recommender.ids_of(history)], device=model.device)
    with in_evaluation_mode(model):
        gates = recommender(input_ids=ids, return_dict=True).get("drift_gate")
    if gates is None:
        raise ValueError(f"this {type(model).__name__} has no drift gate; expected HCRNN-2 or HCRNN-3")
    found: NDArray[np.float32] = gates[0].float().cpu().numpy()
    return found


def draw_drift(
    model: ZooPreTrainedModel, history: Sequence[str | int], out: str | Path, *, title: str | None = None
) -> None:
    """Draw the drift gate along a history as a PNG file: at each item the median over units, and the middle half.

    Args:
        model, history: See `drift_gates`.
        out: file to write.
        title: printed as it is, above the picture.

    Raises:
        ImportError: matplotlib is missing.
        ValueError: see `drift_gates`; the name of the file does not end in .png.
    """
    low, middle, high = np.percentile(drift_gates(model, history), QUARTERS, axis=1)
    steps = np.arange(len(history))
    names = [str(name) for name in history]
    figure = new_figure(max(4.0, 0.32 * len(names) + 1.5), 4.2)
    axes = figure.subplots()
    axes.fill_between(steps, low, high, alpha=0.3, linewidth=0, label="middle half of the units")
    axes.plot(steps, middle, marker="o", markersize=3, label="median")
    axes.set_xticks(steps, [shown_word(name) for name in names], rotation=90, fontsize=7, parse_math=False)
    axes.set_ylabel("drift gate")
    axes.set_title(title or "what is kept of the state at each item", loc="left", fontsize=10, parse_math=False)
    axes.legend(fontsize=8)
    save_figure(figure, Path(out))
