"""How the gates of one unit of a Beta-LSTM are distributed while it reads a piece: draws, and a picture of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.models.ops_beta_lstm_gates import CELLS, draw_gammas, gate_pair
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.results.figures import new_figure, save_figure
from ctxzoo.tasks.polyphonic_music.rolls import Roll

BINS = 40  # of each gate


def gate_draws(
    model: ZooPreTrainedModel,
    roll: Roll,
    *,
    layer: int,
    unit: int,
    samples: int = 1000,
    generator: torch.Generator | None = None,
) -> NDArray[np.float32]:
    """Return draws of the input gate and the forget gate of a unit at every step of a piece.

    The steps before are read with the means of the gates.

    Args:
        model: a head of the Beta-LSTM that reads music in one direction, on the CPU.
        roll: (T, 88), the piece.
        layer, unit: numbers from 0.
        samples: draws for each step.
        generator: of the draws; None: torch's own.

    Returns:
        (samples T, 2), i and f.

    Raises:
        ValueError: a cell without Gamma variables; no such layer or unit.
    """
    config: Any = model.config
    if not CELLS[config.cell].gammas:
        known = ", ".join(name for name, cell in CELLS.items() if cell.gammas)
        raise ValueError(f"cell {config.cell!r} draws no Gamma variables; expected one of {known}")
    for name, number, count in (("layer", layer, config.num_layers), ("unit", unit, config.hidden_size)):
        if not 0 <= number < count:
            raise ValueError(f"{name} is {number}; expected 0..{count - 1}")
    steps = torch.from_numpy(roll.astype(np.float32)).unsqueeze(0)
    with in_evaluation_mode(model):
        found = model(inputs_embeds=steps, output_gate_statistics=True).gate_statistics[layer]
    alpha = found.shapes[0, :, :, unit : unit + 1].repeat(samples, 1, 1)
    pair = gate_pair(config.cell, alpha, config.gate_eps, draw_gammas(alpha, generator))
    draws: NDArray[np.float32] = pair.squeeze(-1).numpy()
    return draws


def draw_gate_densities(draws: Mapping[str, NDArray[np.float32]], out: str | Path, *, title: str | None = None) -> None:
    """Draw the joint density of the input gate and the forget gate, a panel for each set of draws.

    Args:
        draws: name -> (N, 2), see `gate_draws`; for instance before training and after.
        out: the PNG file to write.
        title: printed as it is, above the picture.

    Raises:
        ValueError: no draws; the name of the file does not end in .png.
        ImportError: matplotlib is missing.
    """
    if not draws or not all(len(values) > 1 for values in draws.values()):
        raise ValueError(f"nothing to draw: expected two draws or more of each of {list(draws)}")
    figure = new_figure(0.8 + 3.2 * len(draws), 4.3)
    panels = figure.subplots(1, len(draws), sharey=True, squeeze=False)[0]
    for axes, (name, values) in zip(panels, draws.items(), strict=True):
        density, edges, _ = np.histogram2d(values[:, 0], values[:, 1], bins=BINS, range=((0, 1), (0, 1)), density=True)
        # Most of the mass of a bimodal gate lies in a few cells at the corners: roots keep the others visible.
        axes.pcolormesh(edges, edges, np.sqrt(density).T, cmap="Blues")
        correlation = np.atleast_2d(np.corrcoef(values.astype(np.float64).T))[0, 1]
        axes.set_title(f"{name}: correlation {correlation:+.2f}", loc="left", fontsize=10, parse_math=False)
        axes.set_xlabel("input gate i")
        axes.set_box_aspect(1)
    panels[0].set_ylabel("forget gate f")
    if title is not None:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, parse_math=False)
    save_figure(figure, out)
