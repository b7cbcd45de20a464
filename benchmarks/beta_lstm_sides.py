"""The sides of `beta_lstm`: two layers of `nn.LSTM`, or of a cell of `BetaLSTM`, with drawn gates or their means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from benchmarks.passes import LayerRunner
from benchmarks.reporting import Value
from ctxzoo.models.layers_beta_lstm import BetaLSTM
from ctxzoo.models.ops_beta_lstm_steps import StepsImplementation

LAYERS = 2


@dataclass(frozen=True)
class Side:
    """One timed implementation ("side" of a comparison): `nn.LSTM` or a cell of `BetaLSTM`, with its options.

    Attributes:
        label: Name of the side in the printed tables.
        cell: Name of the cell: one of `CELLS`, or "nn.LSTM" for that of torch.
        size: Hidden size H, units of each layer and direction.
        gates: How gates are computed: "sample" draws them in every pass, "mean" takes their means.
        implementation: Implementation of the steps of `BetaLSTM`.
    """

    label: str
    cell: str
    size: int
    gates: Literal["sample", "mean"] = "mean"
    implementation: StepsImplementation = "auto"

    def columns(self) -> dict[str, Value]:
        """Return the columns that name the layer in results; sides with equal columns must give equal outputs."""
        with torch.device("meta"):
            numbers = sum(parameter.numel() for parameter in build_layers(self, 88).parameters())
        return {"cell": self.cell, "size": self.size, "gates": self.gates, "parameters": numbers}


class OutputAlone(nn.Module):
    """A recurrent layer that returns its output (B, n, H) without the state."""

    def __init__(self, rnn: nn.Module) -> None:
        """Wrap `rnn`, a recurrent layer such as `nn.LSTM`, whose call returns output and state."""
        super().__init__()
        self.rnn = rnn

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output (B, n, H) for inputs x (B, n, D), without the state."""
        output: torch.Tensor = self.rnn(x)[0]
        return output


def build_layers(side: Side, width: int) -> nn.Module:
    """Return the recurrent layers that a side times, for inputs (B, n, width)."""
    rnn: nn.Module
    if side.cell == "nn.LSTM":
        rnn = nn.LSTM(width, side.size, LAYERS, batch_first=True)
    else:
        rnn = BetaLSTM(width, side.size, LAYERS, cell=side.cell, batch_first=True, gate_sampling=side.gates)
        rnn.implementation = side.implementation
    return OutputAlone(rnn)


class Runner(LayerRunner):
    """Runs the passes of one side in its worker process, at one size after another."""

    def build(self, batch: int, length: int, width: int) -> nn.Module:
        """Return the recurrent layers of this side; batch and length play no part."""
        return build_layers(self.side, width)
