"""Highway network (Srivastava et al. 2015)."""

import torch
from torch import nn


class Highway(nn.Module):
    """`num_layers` times: g = sigmoid(W_g x + b), t = relu(W_t x + b), x <- g t + (1 - g) x; (…, width) stays."""

    def __init__(self, width: int, num_layers: int) -> None:
        super().__init__()
        self.gates = nn.ModuleList(nn.Linear(width, width) for _ in range(num_layers))
        self.transforms = nn.ModuleList(nn.Linear(width, width) for _ in range(num_layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for gate, transform in zip(self.gates, self.transforms, strict=True):
            g = torch.sigmoid(gate(x))
            x = x + g * (torch.relu(transform(x)) - x)
        return x
