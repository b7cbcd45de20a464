"""Where iterated attention starts: the context of each document before the first step."""

from typing import Literal

import torch
from torch import nn
from transformers import initialization as init


class InitialContext(nn.Module):
    """The context c^0 that each document starts from.

    Args:
        width: Width m of the tokens.
        kind: Kind of first context: "ones"; "learned", a vector that starts at ones; "random", drawn from U(-1, 1) for
            each document.
        evaluation: First context of `random` at evaluation: "fixed", vectors drawn once and saved with the module;
            "redraw", drawn as in training.
        samples: Number S of first contexts of each document at evaluation.
    """

    drawn: torch.Tensor

    def __init__(
        self,
        width: int,
        kind: Literal["ones", "learned", "random"],
        evaluation: Literal["fixed", "redraw"],
        samples: int,
    ) -> None:
        super().__init__()
        self.width = width
        self.kind = kind
        self.evaluation = evaluation
        self.samples = samples
        if kind == "learned":
            self.learned = nn.Parameter(torch.empty(width))
        if kind == "random" and evaluation == "fixed":
            self.register_buffer("drawn", torch.empty(samples, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.kind == "learned":
            init.ones_(self.learned)
        if self.kind == "random" and self.evaluation == "fixed":
            init.uniform_(self.drawn, -1.0, 1.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return c^0 for tokens x (B, n, m): (B, m), or (B, S, m) where there are several starts, in the dtype of x."""
        batch = x.size(0)
        if self.kind == "ones":
            return x.new_ones(batch, self.width)
        if self.kind == "learned":
            return self.learned.to(x.dtype).expand(batch, self.width)  # (B, m)
        samples = 1 if self.training else self.samples
        if self.training or self.evaluation == "redraw":
            starts = torch.rand(batch, samples, self.width, device=x.device, dtype=x.dtype) * 2 - 1  # (B, S, m)
        else:
            starts = self.drawn.to(x.dtype).expand(batch, -1, -1)  # (B, S, m)
        return starts.squeeze(1) if samples == 1 else starts
