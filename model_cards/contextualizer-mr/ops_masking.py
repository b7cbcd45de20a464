"""Softmax over the positions that exist."""

import torch


def mask_logits(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """`logits` in float32 or wider, with the lowest finite value where `mask` (boolean, broadcastable) is False.

    A finite value rather than -inf: a row without any real position then gives a uniform distribution instead of NaN.
    """
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    return logits.masked_fill(~mask, torch.finfo(logits.dtype).min)


def masked_softmax(logits: torch.Tensor, mask: torch.Tensor, dim: int) -> torch.Tensor:
    """Softmax over `dim` among positions where `mask` is True; exactly 0 at the others."""
    return torch.softmax(mask_logits(logits, mask), dim=dim)


def reference_masked_softmax(logits: torch.Tensor, mask: torch.Tensor, dim: int) -> torch.Tensor:
    """The same in float64: exponentials of the real positions over their sum."""
    mask = mask.expand_as(logits)
    weights = torch.where(mask, logits.double().exp(), torch.zeros((), dtype=torch.float64))
    return weights / weights.sum(dim, keepdim=True)
