"""The time kernel of LSTE over a user's history: how alike two times are, and what of it is power and what the gap."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ctxzoo.data.event_rows import seconds_of
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.results.figures import new_figure, save_figure
from ctxzoo.training.scoring import in_evaluation_mode

Kernel = NDArray[np.float64]


def time_kernel(
    model: ZooPreTrainedModel, history: Sequence[str | int], timestamps: Sequence[Any]
) -> tuple[Kernel, Kernel, Kernel]:
    """Return K of the times of a history, and its factors.

    Args:
        model: a time encoder with position="lste" that predicts events.
        history: Names of events in the order of time, as in the data of the training; 10 and "10" are one name.
        timestamps: A number for each, in the unit of the training data, or a date or time where those were dates.

    Returns:
        K (T, T); K1 (T, T, A) the local power of each component at the middle of two times; K2 (T, T, A) its kernel of
        their gap. K is the sum of their products over the components, where no envelope is clipped.

    Raises:
        ValueError: a model without such a kernel; an empty history, an unknown event, or other timestamps.
    """
    predictor: Any = model
    time = getattr(model.base_model, "time", None)
    if not hasattr(predictor, "ids_of") or time is None:
        raise ValueError(f"this {type(model).__name__} has no kernel of times; expected position='lste'")
    ids = torch.tensor([predictor.ids_of(history)], device=model.device)
    if len(timestamps) != ids.size(1):
        raise ValueError(f"{len(timestamps)} timestamps of {ids.size(1)} events: expected as many")
    times = torch.tensor([seconds_of(timestamps)], dtype=torch.float64, device=model.device)
    with in_evaluation_mode(model):
        factors = predictor.base_model.time_kernel(ids, times)
    kernel, power, gaps = (factor[0].double().cpu().numpy() for factor in factors)
    return kernel, power, gaps


def draw_time_kernel(
    model: ZooPreTrainedModel,
    history: Sequence[str | int],
    timestamps: Sequence[Any],
    out: str | Path,
    *,
    title: str | None = None,
) -> None:
    """Draw K over a history as a PNG file, and beside it K(t, t), the local power, over time.

    Args:
        model, history, timestamps: see `time_kernel`.
        out: file to write.
        title: printed as it is, above the picture.

    Raises:
        ImportError: matplotlib is missing.
        ValueError: see `time_kernel`; the name of the file does not end in .png.
    """
    kernel = time_kernel(model, history, timestamps)[0]
    times = np.array(seconds_of(timestamps))
    elapsed = (times - times[0]) / model.config.time_unit
    figure = new_figure(9.0, 4.0)
    left, right = figure.subplots(1, 2)
    shown = left.pcolormesh(kernel, cmap="viridis")
    figure.colorbar(shown, ax=left)
    left.set_xlabel("event")
    left.set_ylabel("event")
    left.invert_yaxis()
    left.set_title(title or "K of the times of two events", loc="left", fontsize=10, parse_math=False)
    right.plot(elapsed, kernel.diagonal(), marker="o", markersize=3)
    right.set_xlabel("time since the first event, in units")
    right.set_ylabel("K(t, t)")
    right.set_ylim(bottom=0)
    right.set_title("local power", loc="left", fontsize=10)
    save_figure(figure, Path(out))
