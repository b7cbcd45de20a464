"""The steps as the blocks of the ContextEncoder read them: of their width, with their positions."""

import torch
from torch import nn
from transformers import initialization as init

from .layers_context_encoder_block import DEVIATION
from .ops_context_encoder_positions import rotary_factors, sinusoids_at


class Positions(nn.Module):
    """What tells a step's position: a vector that is added to it, or rotary factors of queries and keys.

    Args:
        kind: none; sinusoidal (Vaswani et al. 2017); learned, a table; rotary (Su et al. 2021).
        hidden_size: m.
        head_size: d.
        max_length: rows of a learned table.
        amplitude: of the sinusoids.
    """

    def __init__(self, kind: str, hidden_size: int, head_size: int, max_length: int, amplitude: float) -> None:
        super().__init__()
        self.kind = kind
        self.hidden_size = hidden_size
        self.head_size = head_size
        self.amplitude = amplitude
        if kind == "learned":
            self.table = nn.Parameter(torch.empty(max_length, hidden_size))
            self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.kind == "learned":
            init.normal_(self.table, std=DEVIATION)

    def added(self, positions: torch.Tensor, dtype: torch.dtype) -> torch.Tensor | None:
        """Return what is added to steps at positions (B, n), as (B, n, m); None: nothing.

        Raises:
            ValueError: a position behind the last row of a learned table (read on the CPU only).
        """
        if self.kind == "sinusoidal":
            return self.amplitude * sinusoids_at(positions, self.hidden_size, dtype)
        if self.kind != "learned":
            return None
        rows = len(self.table)
        if not (torch.compiler.is_compiling() or positions.is_cuda) and positions.numel():
            last = int(positions.max())
            if last >= rows:
                raise ValueError(
                    f"position {last} is behind the {rows} learned positions; shorten the sequence, or train with a "
                    "larger max_length or another position"
                )
        return self.table[positions].to(dtype)

    def rotary(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Return the factors by which queries and keys at positions (B, n) are turned; None: they are not."""
        return rotary_factors(positions, self.head_size) if self.kind == "rotary" else None
