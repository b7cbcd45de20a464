"""A table of parameters, such as the ideal points of legislators."""

import torch
from torch import nn
from transformers import initialization as init


class Table(nn.Module):
    """A table of parameters that starts from a truncated normal distribution, or constant.

    Args:
        shape: of it.
        deviation: of the start; 0: all entries are `value`.
        value: mean of the start.
    """

    def __init__(self, *shape: int, deviation: float = 0.0, value: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(*shape))
        self.deviation, self.value = deviation, value
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.deviation:
            far = 2 * self.deviation
            init.trunc_normal_(self.weight, self.value, self.deviation, self.value - far, self.value + far)
        else:
            init.constant_(self.weight, self.value)
