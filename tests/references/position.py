"""Sinusoidal positions (Vaswani et al. 2017, section 3.5), entry by entry, in float64."""

from __future__ import annotations

import math

import torch


def reference_sinusoidal_positions(length: int, width: int) -> torch.Tensor:
    """Compute what `sinusoidal_positions` gives, (length, width), entry by entry, in float64."""
    table = torch.zeros(length, width, dtype=torch.float64)
    for position in range(length):
        for column in range(width):
            angle = position / 10000 ** ((column - column % 2) / width)
            table[position, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return table
