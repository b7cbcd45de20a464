"""Pictures of models that read a text in steps: accuracy by their number, and what each step attends to."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctxzoo.evaluation.figures import SMALL_PRINT, fonts, new_figure, save_figure, shown_word

COLOURS = ("#1f5fa8", "#d1792b", "#3b8a5a", "#8a5fb0", "#9aa5b1")


def plot_accuracy_by_steps(rows: Mapping[str, Mapping[int, Sequence[float]]], out: str | Path) -> None:
    """Draw a line for each row: mean test accuracy against the number of steps, with a bar of one deviation.

    Args:
        rows: name of the row -> number of steps -> accuracies of the folds, in percent.
        out: the PNG file to write.

    Raises:
        ValueError: no rows, or a point without accuracies.
        ImportError: matplotlib is missing.
    """
    if not rows or not all(values for points in rows.values() for values in points.values()):
        raise ValueError(f"nothing to draw: every row needs accuracies for each number of steps, got {dict(rows)}")
    figure = new_figure(6, 3.8)
    axes = figure.subplots()
    # Equal distances: the numbers of steps are chosen roughly as powers.
    ticks = sorted({steps for points in rows.values() for steps in points})
    for place, (name, points) in enumerate(rows.items()):
        shift = 0.06 * (place - (len(rows) - 1) / 2)  # bars of one K side by side
        axes.errorbar(
            [ticks.index(steps) + shift for steps in sorted(points)],
            [statistics.fmean(points[steps]) for steps in sorted(points)],
            yerr=[statistics.stdev(points[steps]) if len(points[steps]) > 1 else 0.0 for steps in sorted(points)],
            color=COLOURS[place % len(COLOURS)],
            marker="o",
            markersize=5,
            linewidth=2,
            capsize=3,
            label=name,
        )
    axes.set_xticks(range(len(ticks)), [str(steps) for steps in ticks])
    axes.set_xlabel("number of steps K")
    axes.set_title("Test accuracy (%), mean and deviation over folds", loc="left", fontweight="bold")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e9ed", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(frameon=False)
    save_figure(figure, out)


def plot_token_weights(weights: NDArray[Any], words: Sequence[str], out: str | Path, title: str | None = None) -> None:
    """Draw how much each word counts in each step: one row for a step, one column for a word.

    Args:
        weights: (K, n), each row summing to 1: weights of the words, mean over features.
        words: n words.
        out: the PNG file to write.
        title: printed as it is, above the picture.

    Raises:
        ValueError: shapes and words disagree, or there is no word.
        ImportError: matplotlib is missing.
    """
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != len(words) or not values.size:
        raise ValueError(f"weights of shape {values.shape} do not fit {len(words)} words: expected (steps, words)")
    steps = len(values)
    figure = new_figure(2.2 + 0.52 * max(len(words), 6), 1.5 + 0.42 * steps)
    axes = figure.subplots()
    image = axes.imshow(values, cmap="Blues", vmin=0.0, aspect="auto", interpolation="nearest")
    for step in range(steps):
        for place in range(len(words)):
            share = values[step, place]
            colour = "white" if share > 0.6 * values.max() else "black"
            axes.text(place, step, f"{100 * share:.0f}", ha="center", va="center", fontsize=8, color=colour)
    text: dict[str, Any] = {"fontsize": 10, "parse_math": False, "fontfamily": fonts()}
    axes.set_xticks(range(len(words)), [shown_word(word) for word in words], rotation=60, ha="right", **text)
    axes.set_yticks(range(steps), [f"step {step + 1}" for step in range(steps)])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("% of the step's weight, mean over features", fontsize=9, color=SMALL_PRINT)
    if title is not None:
        axes.set_title(title, loc="left", fontsize=11, parse_math=False, fontfamily=fonts(), wrap=True)
    figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01).ax.tick_params(labelsize=8, length=0)
    save_figure(figure, out)
