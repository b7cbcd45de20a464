"""Pictures of numbers against numbers: scores by a size of the model."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxzoo.results.figures import new_figure, save_figure

COLOURS = ("#1f5fa8", "#d1792b", "#3b8a5a", "#8a5fb0", "#9aa5b1")


def plot_scores_by(
    rows: Mapping[str, Mapping[int, Sequence[float]]],
    out: str | Path,
    *,
    axis: str,
    runs: str,
    score: str = "Test accuracy",
) -> None:
    """Plot mean scores with deviations against a size of the model, a line for each row of a table.

    Args:
        rows: Name of each row to scores of its runs in percent, by size.
        out: The PNG file to write.
        axis: Label of the horizontal axis, such as "number of steps K".
        runs: Plural noun for what the mean is taken over, such as "folds".
        score: Name of the score.

    Raises:
        ValueError: no rows, or a point without scores.
        ImportError: matplotlib is missing.
    """
    if not rows or not all(values for points in rows.values() for values in points.values()):
        raise ValueError(f"nothing to draw: every row needs scores for each {axis}, got {dict(rows)}")
    figure = new_figure(6, 3.8)
    axes = figure.subplots()
    # Equal distances: the sizes are chosen roughly as powers.
    ticks = sorted({size for points in rows.values() for size in points})
    for number, (name, points) in enumerate(rows.items()):
        shift = 0.06 * (number - (len(rows) - 1) / 2)  # bars of one size side by side
        axes.errorbar(
            [ticks.index(size) + shift for size in sorted(points)],
            [statistics.fmean(points[size]) for size in sorted(points)],
            yerr=[statistics.stdev(points[size]) if len(points[size]) > 1 else 0.0 for size in sorted(points)],
            color=COLOURS[number % len(COLOURS)],
            marker="o",
            markersize=5,
            linewidth=2,
            capsize=3,
            label=name,
        )
    axes.set_xticks(range(len(ticks)), [str(size) for size in ticks])
    label_axes(axes, axis, f"{score} (%), mean and deviation over {runs}")
    save_figure(figure, out)


def label_axes(axes: Any, axis: str, title: str) -> None:
    """Set the label of the horizontal axis, the title and the legend."""
    axes.set_xlabel(axis)
    axes.set_title(title, loc="left", fontweight="bold")
    axes.legend(frameon=False)
    remove_axes_box(axes)


def remove_axes_box(axes: Any) -> None:
    """Remove the frame of axes and draw pale horizontal grid lines."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e9ed", linewidth=0.8)
    axes.set_axisbelow(True)
