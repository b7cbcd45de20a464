"""The CSV log of a training: its rows, the scores and losses of each epoch, and a picture of both."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ctxzoo.results.figures import new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRAIN, VALIDATION, SECOND = "#9aa5b1", "#1f5fa8", "#d1792b"


def read_metrics_csv(metrics_csv: str | Path) -> list[dict[str, str]]:
    """Return the rows of a `metrics.csv` of Lightning's `CSVLogger` as dicts; empty cells are ""."""
    with Path(metrics_csv).open(encoding="utf-8", newline="") as file:
        return [{name: cell or "" for name, cell in row.items() if name} for row in csv.DictReader(file)]


def read_scores_by_epoch(metrics_csv: str | Path, names: Sequence[str], split: str = "validation") -> dict[str, float]:
    """Return the scores of a split after each epoch, as a results file holds them.

    Args:
        metrics_csv: Log of the training, a CSV file; of several rows of an epoch the last counts.
        names: Names of the scores, such as ``f1``; scores that the log lacks, and values that are not finite, are left
            out.
        split: Split on which the scores were measured.

    Returns:
        Values by ``split/epoch<number>/name``; the first epoch is number 1.
    """
    scores: dict[str, float] = {}
    for row in read_metrics_csv(metrics_csv):
        for name in names:
            cell = row.get(f"{split}/{name}")
            if cell and math.isfinite(value := float(cell)):
                scores[f"{split}/epoch{int(row['epoch']) + 1}/{name}"] = value
    return scores


def read_losses_by_epoch(metrics_csv: str | Path) -> dict[str, float]:
    """Return the training loss of each epoch, the mean over its rows.

    Returns:
        Values by ``train/epoch<number>/loss``; the first epoch is number 1. Those that are not finite are left out.
    """
    losses: dict[str, float] = {}
    for row in read_metrics_csv(metrics_csv):
        cell = row.get("train/epoch_loss")
        if cell and math.isfinite(value := float(cell)):
            losses[f"train/epoch{int(row['epoch']) + 1}/loss"] = value
    return losses


def plot_learning_curves(metrics_csv: str | Path, out: str | Path, scores: Mapping[str, str]) -> None:
    """Draw loss (left) and scores of validation (right) over the training steps.

    Args:
        metrics_csv: File ``metrics.csv`` of Lightning's ``CSVLogger``; cells may be empty. ``step``, ``train/loss``,
            ``validation/nll`` and the scores are read.
        out: The PNG file to write.
        scores: One or two scores in percent, each with the name for readers, such as ``{"f1": "F1"}`` for
            ``validation/f1``.

    Raises:
        ValueError: the file has none of these columns with a number, or ``out`` is not a PNG file.
        ImportError: matplotlib is missing.
    """
    rows = read_metrics_csv(metrics_csv)
    names = ("train/loss", "validation/nll", *(f"validation/{score}" for score in scores))
    curves = {name: _extract_curve(rows, name) for name in names}
    if not any(len(steps) for steps, _ in curves.values()):
        columns = ", ".join(rows[0]) if rows else "nothing"
        raise ValueError(
            f"{metrics_csv}: no numbers under step and one of {', '.join(names)}; found columns: {columns}"
        )
    figure = new_figure(10, 3.8)
    loss_axes, score_axes = figure.subplots(1, 2)
    _draw_losses(loss_axes, curves["train/loss"], curves["validation/nll"])
    _draw_scores(score_axes, {label: curves[f"validation/{score}"] for score, label in scores.items()})
    for axes in (loss_axes, score_axes):
        axes.set_xlabel("training step")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#e6e9ed", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.xaxis.set_major_formatter(lambda step, _: f"{step:,.0f}")
        axes.locator_params(axis="x", nbins=6, integer=True)
    save_figure(figure, out)


def _extract_curve(rows: list[dict[str, str]], name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return steps (n,) and finite values (n,) of a metric in rows of `metrics.csv`, by rising step."""
    pairs = sorted((float(row["step"]), float(row[name])) for row in rows if row.get(name) and row.get("step"))
    table = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    table = table[np.isfinite(table).all(axis=1)]
    return table[:, 0], table[:, 1]


def _draw_losses(
    axes: Axes,
    train: tuple[NDArray[np.float64], NDArray[np.float64]],
    validation: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Draw the losses of training, each with steps (n,) and values (n,), smoothed where they are many, and of
    validation.
    """
    steps, losses = train
    if len(steps) > 60:  # single batches are noise: keep them pale behind their running mean
        axes.plot(steps, losses, color=TRAIN, linewidth=0.6, alpha=0.35)
        width = len(steps) // 30
        kernel = np.full(width, 1 / width)
        steps, losses = np.convolve(steps, kernel, "valid"), np.convolve(losses, kernel, "valid")
    if len(steps):
        axes.plot(steps, losses, color=TRAIN, linewidth=2, label="train")
    if len(validation[0]):
        axes.plot(*validation, color=VALIDATION, linewidth=2, marker="o", markersize=4, label="validation")
    axes.set_title("Loss", loc="left", fontweight="bold")
    if axes.lines:
        axes.legend(frameon=False)


def _draw_scores(axes: Axes, curves: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]) -> None:
    """Draw up to two validation scores, each by name with steps (n,) and values (n,), and mark the best value."""
    for (name, (steps, values)), color in zip(curves.items(), (VALIDATION, SECOND), strict=False):
        if not len(steps):
            continue
        best = int(values.argmax())
        label = f"{name}, best {values[best]:.1f}"
        axes.plot(steps, values, color=color, linewidth=2, marker="o", markersize=4, label=label)
        axes.plot(steps[best], values[best], "o", color=color, markersize=10, fillstyle="none", markeredgewidth=1.5)
    axes.set_title(f"Validation {' and '.join(curves)} (%)", loc="left", fontweight="bold")
    if axes.lines:
        axes.legend(frameon=False)
