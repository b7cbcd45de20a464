"""Softmax, mean and maximum over the positions that exist, one text after the other, in float64."""

from __future__ import annotations

import torch


def reference_masked_softmax(logits: torch.Tensor, mask: torch.Tensor, dim: int) -> torch.Tensor:
    """Compute what `masked_softmax` gives in float64: exponentials of the real positions over their sum."""
    mask = mask.expand_as(logits)
    weights = torch.where(mask, logits.double().exp(), torch.zeros((), dtype=torch.float64))
    return weights / weights.sum(dim, keepdim=True)


def reference_pooling(x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute the mean and the maximum over tokens, (B, d) each, in float64, text by text."""
    none = x.new_zeros(1, x.size(2), dtype=torch.float64)
    texts = [tokens[real] if real.any() else none for tokens, real in zip(x.double(), mask, strict=True)]
    return torch.stack([text.mean(dim=0) for text in texts]), torch.stack([text.amax(dim=0) for text in texts])
