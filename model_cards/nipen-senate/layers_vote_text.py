"""Autoencoders of bags of words, or of votes: a plain denoising one."""

from functools import partial
from itertools import pairwise

import torch
from torch import nn
from transformers import initialization as init

from .layers_linear import make_linear
from .ops_dropout import dropout


def he_linear(in_features: int, out_features: int) -> nn.Linear:
    """Return a linear layer that starts from N(0, 2 / fan_in) (He et al. 2015), with a bias of 0."""
    return make_linear(in_features, out_features, partial(init.kaiming_normal_, nonlinearity="relu"))


class DenoisingAutoencoder(nn.Module):
    """Layers h <- relu(W h + b) from an input down to a code, and up again.

    Dropout stands behind every layer but the last; the code itself is that before its dropout.

    Args:
        size: V, numbers of the input.
        widths: of the layers between.
        code_size: K.
        rate: of dropout.
        linear_output: the last layer has no relu.
    """

    def __init__(
        self, size: int, widths: list[int], code_size: int, rate: float, *, linear_output: bool = False
    ) -> None:
        super().__init__()
        down = [size, *widths, code_size]
        pairs = list(pairwise(down))
        self.encoder = nn.ModuleList(he_linear(first, second) for first, second in pairs)
        self.decoder = nn.ModuleList(he_linear(second, first) for first, second in reversed(pairs))
        self.rate = rate
        self.linear_output = linear_output

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the code (B, K), the last hidden layer before it (B, last width), and the reconstruction (B, V)."""
        hidden, code = x, x
        for layer in self.encoder:
            hidden = x
            code = torch.relu(layer(x))
            x = dropout(code, self.rate, training=self.training)
        for layer in self.decoder[:-1]:
            x = dropout(torch.relu(layer(x)), self.rate, training=self.training)
        output: torch.Tensor = self.decoder[-1](x)
        return code, hidden, output if self.linear_output else torch.relu(output)


def corrupted(x: torch.Tensor, level: float, training: bool) -> torch.Tensor:
    """Return x with each entry 0 at a rate of `level`, the others as they are, in training."""
    return x.masked_fill(torch.rand_like(x) < level, 0.0) if training and level else x
