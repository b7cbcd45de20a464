"""What a model of sequences does inside: HCRNN's drift gate and topics, and the time kernel of LSTE."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.results.figures import format_word_label, new_figure, save_figure
from ctxzoo.tasks.sequences.reader import convert_to_seconds

QUARTERS = (25, 50, 75)
SESSIONS_AT_ONCE = 1024  # sessions of one item
Kernel = NDArray[np.float64]


def drift_gates(model: ZooPreTrainedModel, history: Sequence[str | int]) -> NDArray[np.float32]:
    """Return the drift gate of HCRNN at each step and unit of a session: how much of its state it keeps there.

    Args:
        model: HCRNN of version 2, whose reset gate is returned, or of version 3.
        history: Names of the items in temporal order, as in the training data; 10 and "10" are the same name.

    Returns:
        (T, H), from 0, all is forgotten, to 1.

    Raises:
        ValueError: a model without a drift gate; an empty history, or an unknown item.
    """
    recommender: Any = model
    if not hasattr(recommender, "encode_history"):
        raise ValueError(f"a {type(model).__name__} reads no items; expected an HcrnnForNextItem")
    ids = torch.tensor([recommender.encode_history(history)], device=model.device)
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
        model, history: HCRNN model, and names of the items in temporal order, as in `drift_gates`.
        out: Path of the PNG file to write.
        title: Title above the picture, printed literally.

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
    axes.set_xticks(steps, [format_word_label(name) for name in names], rotation=90, fontsize=7, parse_math=False)
    axes.set_ylabel("drift gate")
    axes.set_title(title or "what is kept of the state at each item", loc="left", fontsize=10, parse_math=False)
    axes.legend(fontsize=8)
    save_figure(figure, Path(out))


def topic_items(model: ZooPreTrainedModel, k: int = 5) -> list[list[tuple[str, float]]]:
    """Return for each topic of HCRNN the k items whose sessions are most about it, with the topic's weight there.

    The global context θ of a session of one item is softmax(μ); an item stands with a topic by its θ there.

    Args:
        model: HCRNN recommendation model, whose topics are listed.
        k: Number of items to return for each topic.

    Returns:
        For each topic the names of k items with θ, the highest first.

    Raises:
        ValueError: a model without topics; k below 1 or above the number of items.
    """
    reader: Any = getattr(model, "hcrnn", None)
    if reader is None:
        raise ValueError(f"a {type(model).__name__} has no topics; expected an HcrnnForNextItem")
    items = model.config.num_items
    if not 1 <= k <= items:
        raise ValueError(f"k is {k}; expected 1 to {items}, the number of items")
    ids = torch.arange(1, items + 1, device=model.device).unsqueeze(1)
    with in_evaluation_mode(model):
        parts = torch.split(ids, SESSIONS_AT_ONCE)
        theta = torch.cat([reader(input_ids=part, return_dict=True).theta for part in parts])
    weights, rows = theta.float().topk(k, dim=0)
    return [
        [(model.config.get_row_name(int(row) + 1), float(weight)) for row, weight in zip(*column, strict=True)]
        for column in zip(rows.t(), weights.t(), strict=True)
    ]


def time_kernel(
    model: ZooPreTrainedModel, history: Sequence[str | int], timestamps: Sequence[Any]
) -> tuple[Kernel, Kernel, Kernel]:
    """Return the time kernel of LSTE, how alike two times of a history are to the model, and its factors.

    Args:
        model: Time encoder with position="lste" and a head that predicts events.
        history: Names of the events in temporal order, as in the training data; 10 and "10" are the same name.
        timestamps: Time of each event, as a number in the unit of the training data, or as a date if that had dates.

    Returns:
        K (T, T); K1 (T, T, A) the local power of each component at the middle of two times; K2 (T, T, A) its kernel of
        their gap. K is the sum of their products over the components, where no envelope is clipped.

    Raises:
        ValueError: a model without such a kernel; an empty history, an unknown event, or other timestamps.
    """
    predictor: Any = model
    time = getattr(model.base_model, "time", None)
    if not hasattr(predictor, "encode_history") or time is None:
        raise ValueError(f"this {type(model).__name__} has no kernel of times; expected position='lste'")
    ids = torch.tensor([predictor.encode_history(history)], device=model.device)
    if len(timestamps) != ids.size(1):
        raise ValueError(f"{len(timestamps)} timestamps of {ids.size(1)} events: expected as many")
    times = torch.tensor([convert_to_seconds(timestamps)], dtype=torch.float64, device=model.device)
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
    """Draw the time kernel K of LSTE over a history as a PNG file, with its diagonal K(t, t) over time.

    Args:
        model, history, timestamps: Model, names of the events in temporal order, and their times, as in `time_kernel`.
        out: Path of the PNG file to write.
        title: Title above the picture, printed literally.

    Raises:
        ImportError: matplotlib is missing.
        ValueError: see `time_kernel`; the name of the file does not end in .png.
    """
    kernel = time_kernel(model, history, timestamps)[0]
    times = np.array(convert_to_seconds(timestamps))
    elapsed = (times - times[0]) / model.config.time_unit
    figure = new_figure(6.8, 3.2)
    kernel_axes, power_axes = figure.subplots(1, 2)
    shown = kernel_axes.pcolormesh(kernel, cmap="viridis")
    figure.colorbar(shown, ax=kernel_axes)
    kernel_axes.set_xlabel("number of the event")
    kernel_axes.set_ylabel("number of the event")
    kernel_axes.invert_yaxis()
    kernel_axes.set_title(title or "K of the times of two events", loc="left", fontsize=10, parse_math=False)
    power_axes.plot(elapsed, kernel.diagonal(), marker="o", markersize=3)
    power_axes.set_xlabel("time since the first event, in units")
    power_axes.set_ylabel("K(t, t)")
    power_axes.set_ylim(bottom=0)
    power_axes.set_title("local power", loc="left", fontsize=10)
    save_figure(figure, Path(out))
