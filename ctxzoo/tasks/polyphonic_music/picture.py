"""Pictures of piano rolls."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ctxzoo.results.figures import new_figure, save_figure
from ctxzoo.tasks.polyphonic_music.rolls import KEYS, LOWEST_PITCH, Roll

OCTAVE = 12
MIDDLE_C = 60 - LOWEST_PITCH
PROMPT_COLOUR, CONTINUED_COLOUR = "#56606b", "#1f5fa8"
LEAST_KEYS = 24  # that a picture shows


def draw_roll(prompt: Roll, continuation: Roll, out: str | Path, *, title: str | None = None) -> None:
    """Draw a piece, the steps that were given and behind them those that a model added.

    Args:
        prompt: (T, 88).
        continuation: (n, 88); T + n must be 1 or more.
        out: the PNG file to write.
        title: printed as it is, above the picture.

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
        aspect="auto",
        interpolation="nearest",
        origin="lower",
        extent=(0, len(roll), -0.5, KEYS - 0.5),
    )
    if len(prompt) and len(continuation):
        axes.axvline(len(prompt), color="black", linewidth=1, linestyle=":")
        axes.text(len(prompt), 1.01, " continuation", transform=axes.get_xaxis_transform(), fontsize=8)
    low, high = _shown_keys(roll)
    axes.set_xlim(0, len(roll))
    axes.set_ylim(low - 0.5, high + 0.5)
    ticks = [key for key in range(MIDDLE_C % OCTAVE, KEYS, OCTAVE) if low <= key <= high]
    axes.set_yticks(ticks, [f"C{(key - MIDDLE_C) // OCTAVE + 4}" for key in ticks])
    axes.grid(axis="y", linewidth=0.5, alpha=0.5)
    axes.set_xlabel("step")
    axes.set_ylabel("key")
    axes.spines[["top", "right"]].set_visible(False)
    if title is not None:
        axes.set_title(title, loc="left", fontsize=10, parse_math=False, pad=16)
    save_figure(figure, out)


def _shown_keys(roll: Roll) -> tuple[int, int]:
    """Return the lowest and highest key to show: those that sound, and around them enough to fill the picture."""
    sounding = np.flatnonzero(roll.any(axis=0))
    low, high = (int(sounding[0]), int(sounding[-1])) if len(sounding) else (MIDDLE_C, MIDDLE_C)
    wanted = max(0, LEAST_KEYS - (high - low + 1))
    return max(0, low - 1 - wanted // 2), min(KEYS - 1, high + 1 + wanted // 2)
