"""Reversal of right-padded sequences within their own lengths."""

import torch


def reverse_within_length(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Reverse the first `lengths[b]` steps of row b; padding stays where it is. Its own inverse.

    Args:
        x: (B, n, d).
        lengths: (B,) integers in 0..n.
    """
    steps = torch.arange(x.size(1), device=x.device)
    mirrored = lengths.unsqueeze(1) - 1 - steps
    index = torch.where(mirrored >= 0, mirrored, steps)  # (B, n)
    return x.gather(1, index.unsqueeze(-1).expand_as(x))


def reference_reverse_within_length(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The same, row by row."""
    rows = [torch.cat([row[:length].flip(0), row[length:]]) for row, length in zip(x, lengths.tolist(), strict=True)]
    return torch.stack(rows)
