"""What the gates of a Beta-LSTM do at each word of a text, and a picture of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.models.modeling_beta_lstm import BetaLstmModel
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.results.figures import fonts, new_figure, save_figure, shown_word
from ctxzoo.results.plots import COLOURS, lighten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INNER = (10, 90)  # percentiles between which most units are shown


@dataclass(frozen=True, eq=False)
class WordGates:
    """A text, and the gates of one layer at each of its words, given the words before.

    Attributes:
        words: n words, as the tokenizer has them.
        input_gate, forget_gate: (n, H) E[i] and E[f] of each unit; where none are drawn the gates.
        correlation: (n, H) of i and f of each unit as they are drawn, an estimate; None for a cell that draws none.
    """

    words: list[str]
    input_gate: NDArray[np.float64]
    forget_gate: NDArray[np.float64]
    correlation: NDArray[np.float64] | None


def word_gates(
    model: ZooPreTrainedModel, tokenizer: Any, text: str, *, layer: int = 0, reverse: bool = False
) -> WordGates:
    """Return the gates of a layer at each word of a text.

    Args:
        model: a Beta-LSTM that reads words, the base or with a head; it is in evaluation mode while it reads.
        tokenizer: its tokenizer.
        text: one text.
        layer: number from 0.
        reverse: the layer that reads from the end, of a model with two directions.

    Raises:
        ValueError: a model of another architecture; no such layer; no word of the text is known.
    """
    base = model.base_model
    if not isinstance(base, BetaLstmModel):
        raise ValueError(f"a {type(model).__name__} has no gates to show; expected a Beta-LSTM")
    inputs = tokenizer(text, return_tensors="pt").to(model.device)
    if not inputs["input_ids"].numel():
        raise ValueError(f"the checkpoint knows no word of {text!r}")
    with in_evaluation_mode(model):
        statistics = base(**inputs, output_gate_statistics=True).gate_statistics
    found = next((one for one in statistics if (one.layer, one.reverse) == (layer, reverse)), None)
    if found is None:
        known = ", ".join(f"layer {one.layer}{', reverse' if one.reverse else ''}" for one in statistics)
        raise ValueError(f"there is no layer {layer}{', reverse' if reverse else ''}; there are {known}")
    correlation = None if found.correlation is None else found.correlation[0].double().cpu().numpy()
    return WordGates(
        tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist()),
        found.input_gate[0].double().cpu().numpy(),
        found.forget_gate[0].double().cpu().numpy(),
        correlation,
    )


def draw_word_gates(gates: WordGates, out: str | Path, *, title: str | None = None) -> None:
    """Draw the mean gates of all units at each word, and below them the mean correlation of i and f.

    Bands hold the middle 80 % of the units. Cells that draw no gates have no correlation to draw.

    Args:
        gates: of a text.
        out: the PNG file to write.
        title: printed as it is, above the picture.

    Raises:
        ValueError: the name of the file does not end in .png.
        ImportError: matplotlib is missing.
    """
    panels = 1 if gates.correlation is None else 2
    figure = new_figure(2.0 + 0.45 * max(len(gates.words), 6), 1.6 + 1.8 * panels)
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
    _draw_units(axes[0], gates.input_gate, COLOURS[0], "input gate i")
    _draw_units(axes[0], gates.forget_gate, COLOURS[1], "forget gate f")
    axes[0].set_ylim(0, 1)
    axes[0].set_ylabel("mean of the gate")
    axes[0].legend(frameon=False, fontsize=8)
    if gates.correlation is not None:
        _draw_units(axes[1], gates.correlation, COLOURS[2], "correlation of i and f")
        axes[1].axhline(0.0, color="black", linewidth=0.8)
        axes[1].set_ylim(-1, 1)
        axes[1].set_ylabel("correlation of i and f")
    for panel in axes:
        lighten(panel)
    words = [shown_word(word) for word in gates.words]
    axes[-1].set_xticks(
        range(len(words)), words, rotation=60, ha="right", fontsize=10, parse_math=False, fontfamily=fonts()
    )
    if title is not None:
        axes[0].set_title(title, loc="left", fontsize=11, parse_math=False, fontfamily=fonts(), wrap=True)
    save_figure(figure, out)


def _draw_units(axes: Axes, values: NDArray[np.float64], colour: str, label: str) -> None:
    """Draw the mean over units at each word as a line with points, and the middle of the units as a band."""
    places = np.arange(len(values))
    low, high = np.percentile(values, INNER, axis=1)
    axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(places, values.mean(axis=1), color=colour, marker="o", markersize=4, linewidth=1.5, label=label)
