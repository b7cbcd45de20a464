"""Reversal of right-padded sequences within their own lengths."""

from typing import Any

import torch


def reverse_within_length(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Reverse the first `lengths[b]` steps of row b; padding stays where it is. Its own inverse.

    Args:
        x: (B, n, d).
        lengths: (B,) integers in 0..n.
    """
    batch, length, width = x.shape
    steps = torch.arange(length, device=x.device)
    mirrored = lengths.unsqueeze(1) - 1 - steps
    index = torch.where(mirrored >= 0, mirrored, steps)  # (B, n)
    index = index + length * torch.arange(batch, device=x.device).unsqueeze(1)
    rows: torch.Tensor = _Rearrange.apply(x.reshape(batch * length, width), index.flatten())  # type: ignore[no-untyped-call]
    return rows.view(batch, length, width)


class _Rearrange(torch.autograd.Function):
    """rows[index] for an index that is its own inverse: the gradient is rearranged the same way, without a scatter."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(index)
        return rows.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        (index,) = ctx.saved_tensors
        return _Rearrange.apply(gradient.contiguous(), index), None  # type: ignore[no-untyped-call]


def reference_reverse_within_length(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The same, row by row."""
    rows = [torch.cat([row[:length].flip(0), row[length:]]) for row, length in zip(x, lengths.tolist(), strict=True)]
    return torch.stack(rows)
