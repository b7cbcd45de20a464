"""Rows of the training that a regression keeps, to read them beside the rows that it predicts."""

import torch
from torch import nn
from transformers import initialization as init


class RowContext(nn.Module):
    """Scaled features of rows, which are saved with the weights; 0 until they are given.

    Args:
        number: of rows.
        size: I, numbers of a row.
    """

    rows: torch.Tensor

    def __init__(self, number: int, size: int) -> None:
        super().__init__()
        self.register_buffer("rows", torch.empty(number, size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.zeros_(self.rows)
