"""The CSV log of a training: its rows, and the scores and losses of each epoch."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path


def read_rows(metrics_csv: str | Path) -> list[dict[str, str]]:
    """Return the rows of a ``metrics.csv`` of Lightning's ``CSVLogger``, cells by column; empty cells are ""."""
    with Path(metrics_csv).open(encoding="utf-8", newline="") as file:
        return [{name: cell or "" for name, cell in row.items() if name} for row in csv.DictReader(file)]


def scores_by_epoch(metrics_csv: str | Path, names: Sequence[str], split: str = "validation") -> dict[str, float]:
    """Return the scores of a split after each epoch, as a results file holds them.

    Args:
        metrics_csv: log of the training; a later row of the same epoch counts.
        names: of the scores, as ``f1``; those the log does not have, and values that are not finite, are left out.
        split: where they were measured.

    Returns:
        Values by ``split/epoch<number>/name``; the first epoch is number 1.
    """
    scores: dict[str, float] = {}
    for row in read_rows(metrics_csv):
        for name in names:
            cell = row.get(f"{split}/{name}")
            if cell and math.isfinite(value := float(cell)):
                scores[f"{split}/epoch{int(row['epoch']) + 1}/{name}"] = value
    return scores


def losses_by_epoch(metrics_csv: str | Path) -> dict[str, float]:
    """Return the training loss of each epoch, the mean over its rows.

    Returns:
        Values by ``train/epoch<number>/loss``; the first epoch is number 1. Those that are not finite are left out.
    """
    losses: dict[str, float] = {}
    for row in read_rows(metrics_csv):
        cell = row.get("train/epoch_loss")
        if cell and math.isfinite(value := float(cell)):
            losses[f"train/epoch{int(row['epoch']) + 1}/loss"] = value
    return losses
