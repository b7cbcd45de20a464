"""The sides of `beta_lstm`: two layers of `nn.LSTM`, or of a cell of `BetaLSTM`, with drawn gates or their means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from benchmarks.passes import LayerRunner
from benchmarks.reporting import Value
from benchmarks.timing import timed
from ctxzoo.models.layers_beta_lstm import BetaLSTM
from ctxzoo.models.ops_beta_lstm_gamma import GammaSampler, gamma_slope
from ctxzoo.models.ops_beta_lstm_gates import CELLS
from ctxzoo.models.ops_beta_lstm_steps import PIECE

LAYERS = 2
START = 0.694  # of the shapes of Gamma variables, with pre-activations of 0


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        label: how tables call it.
        cell: one of `CELLS`, or nn.LSTM.
        size: H.
        gates: sample: drawn in every pass; mean: their means.
    """

    label: str
    cell: str
    size: int
    gates: Literal["sample", "mean"] = "mean"

    def columns(self) -> dict[str, Value]:
        """The layer."""
        with torch.device("meta"):
            numbers = sum(parameter.numel() for parameter in build(self, 88).parameters())
        return {"cell": self.cell, "size": self.size, "gates": self.gates, "parameters": numbers}


class OutputAlone(nn.Module):
    """A recurrent layer that returns its output (B, n, H) without the state."""

    def __init__(self, rnn: nn.Module) -> None:
        super().__init__()
        self.rnn = rnn

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.rnn(x)[0]
        return output


def build(side: Side, width: int) -> nn.Module:
    """Return the layers of a side for steps of `width` numbers."""
    rnn: nn.Module
    if side.cell == "nn.LSTM":
        rnn = nn.LSTM(width, side.size, LAYERS, batch_first=True)
    else:
        rnn = BetaLSTM(width, side.size, LAYERS, cell=side.cell, batch_first=True, gate_sampling=side.gates)
    return OutputAlone(rnn)


class Runner(LayerRunner):
    """A side, ready to run at one size after another."""

    def build(self, batch: int, length: int, width: int) -> nn.Module:
        return build(self.side, width)

    def gamma_seconds(self, name: str) -> float:
        """Return the seconds that the Gamma draws of a pass take by themselves, as the cells draw them, with their
        derivatives in a backward pass; 0 where there are none."""
        side: Side = self.side
        if side.gates == "mean" or side.cell not in CELLS or not CELLS[side.cell].gammas:
            return 0.0
        batch, length, _ = self.x.shape
        shapes = torch.full((batch, CELLS[side.cell].blocks, side.size), START, device=self.device)

        def draws() -> Any:
            drawn = []
            for _ in range(LAYERS):
                sample = GammaSampler(length, shapes)
                drawn += [sample(shapes) for _ in range(length)]
            if name == "forward":
                return drawn
            several = max(1, PIECE // shapes.numel())
            return [
                gamma_slope(shapes.expand(len(piece), -1, -1, -1).contiguous(), torch.stack(piece))
                for piece in (drawn[first : first + several] for first in range(0, len(drawn), several))
            ]

        draws()
        return timed(draws, self.device)
