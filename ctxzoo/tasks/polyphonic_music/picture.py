"""Pictures of piano rolls, and of how the gates of one unit of a Beta-LSTM are distributed while it reads a piece."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.models.ops_beta_lstm_gates import CELLS, compute_gates, draw_gammas
from ctxzoo.models.ops_execution import in_evaluation_mode
from ctxzoo.results.figures import new_figure, save_figure
from ctxzoo.tasks.polyphonic_music.rolls import KEYS, LOWEST_PITCH, Roll

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OCTAVE = 12
MIDDLE_C = 60 - LOWEST_PITCH
PROMPT_COLOUR, CONTINUED_COLOUR = "#56606b", "#1f5fa8"
LEAST_KEYS = 24  # that a picture shows
IMAGE: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest", "origin": "lower"}  # of rolls as images


def draw_roll(prompt: Roll, continuation: Roll, out: str | Path, *, title: str | None = None) -> None:
    """Draw a piece as a piano roll: the given steps, and behind them those that a model added.

    Args:
        prompt: (T, 88) boolean piano roll of the T given time steps, over 88 piano keys.
        continuation: (n, 88) boolean piano roll of the n generated time steps, over 88 piano keys; T + n must be at
            least 1.
        out: The PNG file to write.
        title: Title above the picture, printed literally.

    Raises:
        ValueError: no step; the name of the file does not end in .png.
        ImportError: matplotlib is missing.
    """
    roll = np.concatenate([prompt, continuation])
    if not len(roll):
        raise ValueError("there is no step to draw; give a prompt or a continuation")
    figure = new_figure(min(16.0, 2.5 + 0.11 * len(roll)), 4)
    from matplotlib.colors import ListedColormap  # the figure has told where it is missing

    axes = figure.subplots()
    kinds = np.where(np.arange(len(roll)) < len(prompt), 1, 2)[:, None] * roll
    axes.imshow(
        kinds.T,
        cmap=ListedColormap(["white", PROMPT_COLOUR, CONTINUED_COLOUR]),
        vmin=0,
        vmax=2,
        extent=(0, len(roll), -0.5, KEYS - 0.5),
        **IMAGE,
    )
    if len(prompt) and len(continuation):
        axes.axvline(len(prompt), color="black", linewidth=1, linestyle=":")
        axes.text(len(prompt), 1.01, " continuation", transform=axes.get_xaxis_transform(), fontsize=8)
    axes.set_xlim(0, len(roll))
    axes.set_xlabel("step")
    _label_key_axis(axes, _choose_key_range(roll))
    if title is not None:
        axes.set_title(title, loc="left", fontsize=10, parse_math=False, pad=16)
    save_figure(figure, out)


def draw_prediction(
    roll: Roll, probabilities: NDArray[np.float32], out: str | Path, *, title: str | None = None
) -> None:
    """Draw a piece as a piano roll, and below it the probability that a model gave each key at each step.

    Args:
        roll: (T, 88) boolean piano roll of the T time steps of the piece, over 88 piano keys.
        probabilities: (T - 1, 88) predicted probability of each of 88 keys at each time step from the second on, from
            `predict_roll`.
        out: The PNG file to write.
        title: Title above the picture, printed literally.

    Raises:
        ValueError: shapes that do not fit; the name of the file does not end in .png.
        ImportError: matplotlib is missing.
    """
    if probabilities.shape != (len(roll) - 1, KEYS) or len(roll) < 2:
        raise ValueError(
            f"probabilities of the shape {probabilities.shape} for a piece of {len(roll)} steps; expected "
            f"({len(roll) - 1}, {KEYS}) and two steps or more"
        )
    figure = new_figure(min(16.0, 3.0 + 0.11 * len(roll)), 6)
    panels = figure.subplots(2, 1, sharex=True)
    for axes, values, name in zip(panels, (roll[1:], probabilities), ("what sounds", "probability"), strict=True):
        image = axes.imshow(
            values.T.astype(np.float32),
            cmap="Blues",
            vmin=0,
            vmax=1,
            extent=(1, len(roll), -0.5, KEYS - 0.5),
            **IMAGE,
        )
        _label_key_axis(axes, _choose_key_range(roll))
        axes.set_title(name, loc="left", fontsize=10)
    panels[1].set_xlabel("step")
    figure.colorbar(image, ax=panels, fraction=0.03, pad=0.01).ax.tick_params(labelsize=8, length=0)
    if title is not None:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, parse_math=False)
    save_figure(figure, out)


def _label_key_axis(axes: Axes, key_range: tuple[int, int]) -> None:
    """Limit axes to the keys from the lowest to the highest, and name the Cs among them."""
    low, high = key_range
    axes.set_ylim(low - 0.5, high + 0.5)
    ticks = [key for key in range(MIDDLE_C % OCTAVE, KEYS, OCTAVE) if low <= key <= high]
    axes.set_yticks(ticks, [f"C{(key - MIDDLE_C) // OCTAVE + 4}" for key in ticks])
    axes.grid(axis="y", linewidth=0.5, alpha=0.5)
    axes.set_ylabel("key")
    axes.spines[["top", "right"]].set_visible(False)


def _choose_key_range(roll: Roll) -> tuple[int, int]:
    """Return the lowest and highest key to show around those that sound."""
    sounding = np.flatnonzero(roll.any(axis=0))
    low, high = (int(sounding[0]), int(sounding[-1])) if len(sounding) else (MIDDLE_C, MIDDLE_C)
    wanted = max(0, LEAST_KEYS - (high - low + 1))
    return max(0, low - 1 - wanted // 2), min(KEYS - 1, high + 1 + wanted // 2)


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
    """Return random draws of the input gate and the forget gate of one unit at every step of a piece.

    The steps before are read with the means of the gates.

    Args:
        model: Beta-LSTM with a head for polyphonic music, unidirectional, on the CPU.
        roll: (T, 88) boolean piano roll that the model reads: T time steps, 88 piano keys.
        layer, unit: Number of the layer, and of the unit in it, from 0.
        samples: Number of draws at each time step.
        generator: Random number generator for the draws; None: torch's global one.

    Returns:
        (samples T, 2), i and f.

    Raises:
        ValueError: a cell without Gamma variables; no such layer or unit.
    """
    config: Any = model.config
    if not CELLS[config.cell].has_gamma_gates:
        known = ", ".join(name for name, cell in CELLS.items() if cell.has_gamma_gates)
        raise ValueError(f"cell {config.cell!r} draws no Gamma variables; expected one of {known}")
    for name, number, count in (("layer", layer, config.num_layers), ("unit", unit, config.hidden_size)):
        if not 0 <= number < count:
            raise ValueError(f"{name} is {number}; expected 0..{count - 1}")
    steps = torch.from_numpy(roll.astype(np.float32)).unsqueeze(0)
    with in_evaluation_mode(model):
        statistics = model(inputs_embeds=steps, output_gate_statistics=True).gate_statistics[layer]
    alpha = statistics.shapes[0, :, :, unit : unit + 1].repeat(samples, 1, 1)
    pair = compute_gates(config.cell, alpha, config.gate_eps, draw_gammas(alpha, generator))
    draws: NDArray[np.float32] = pair.squeeze(-1).numpy()
    return draws


def draw_gate_densities(draws: Mapping[str, NDArray[np.float32]], out: str | Path, *, title: str | None = None) -> None:
    """Draw how often pairs of input gate and forget gate occur together, a panel for each set of draws.

    Args:
        draws: Draws by panel title, such as "before training": (N, 2) arrays of N input and forget gates, from
            `gate_draws`.
        out: The PNG file to write.
        title: Title above the picture, printed literally.

    Raises:
        ValueError: no draws; the name of the file does not end in .png.
        ImportError: matplotlib is missing.
    """
    if not draws or not all(len(values) > 1 for values in draws.values()):
        raise ValueError(f"nothing to draw: expected two draws or more of each of {list(draws)}")
    figure = new_figure(0.8 + 2.8 * len(draws), 3.4)
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
