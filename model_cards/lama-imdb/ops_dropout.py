"""Dropout whose mask is cheap to draw on a CPU."""

import torch
from torch.nn import functional as F

_STEPS = 2**16  # rates are multiples of its inverse


def dropout(x: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
    """Zero each value with probability `rate` and scale the others by 1 / (1 - rate), in training.

    On the CPU torch draws a float for every value. Here one 64-bit draw decides about four values, so the rate is
    rounded to a multiple of 2^-16 (and the scale with it); other devices use torch's own dropout.

    Args:
        x: any shape.
        rate: in [0, 1).
        training: whether to drop at all.

    Returns:
        A tensor of the shape of x; x itself unless in training.
    """
    if not training or rate == 0:
        return x
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return F.dropout(x, rate, training=True)
    dropped = round(rate * _STEPS)
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    values = draws.view(torch.int16)[: x.numel()].view(x.shape)
    kept = values >= dropped - _STEPS // 2
    return x * kept.to(x.dtype).mul_(_STEPS / (_STEPS - dropped))
