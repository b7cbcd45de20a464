"""Dropout over sequences: each value on its own, or one mask for all time steps."""

import torch
from torch import nn

from .ops_dropout import dropout


class SequenceDropout(nn.Module):
    """Dropout on (B, n, d); `variational=True` drops a feature at all n steps together (Gal and Ghahramani 2016)."""

    def __init__(self, rate: float, variational: bool = False) -> None:
        super().__init__()
        self.rate = rate
        self.variational = variational

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training or self.rate == 0:
            return x
        if not self.variational:
            return dropout(x, self.rate, training=True)
        return x * dropout(x.new_ones(x.size(0), 1, x.size(2)), self.rate, training=True)

    def extra_repr(self) -> str:
        return f"{self.rate}, variational={self.variational}"
