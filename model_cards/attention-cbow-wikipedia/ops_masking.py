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


def refuse_gaps(mask: torch.Tensor) -> None:
    """Check a boolean mask (B, n) whose words must come first, as a recurrent layer needs them.

    Raises:
        ValueError: a word after padding; the message names row and position. Values are only read on the CPU: on a
            device it would wait for the queue.
    """
    if torch.compiler.is_compiling() or mask.is_cuda:
        return
    gaps = (mask[:, 1:] & ~mask[:, :-1]).nonzero()
    if len(gaps):
        row, place = gaps[0].tolist()
        raise ValueError(
            f"attention_mask has a word at row {row}, position {place + 1}, after padding; this model reads texts "
            "padded on the right"
        )


def reference_masked_softmax(logits: torch.Tensor, mask: torch.Tensor, dim: int) -> torch.Tensor:
    """The same in float64: exponentials of the real positions over their sum."""
    mask = mask.expand_as(logits)
    weights = torch.where(mask, logits.double().exp(), torch.zeros((), dtype=torch.float64))
    return weights / weights.sum(dim, keepdim=True)
