"""Sinusoidal position encoding (Vaswani et al. 2017, section 3.5)."""

import math

import torch


def sinusoidal_positions(
    length: int, width: int, *, device: torch.device | None = None, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """Return the sinusoids (length, width) of the positions from 0 on; `width` is even.

    Column 2i holds the sine and column 2i + 1 the cosine of pos / 10000^(2i/width).
    """
    # Angles are taken in float64: at large positions float32 loses the fine end of the spectrum.
    frequencies = torch.exp(
        torch.arange(0, width, 2, dtype=torch.float64, device=device) * (-math.log(10000.0) / width)
    )
    angles = torch.arange(length, dtype=torch.float64, device=device).unsqueeze(1) * frequencies  # (length, width/2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).to(dtype)


def word_positions(mask: torch.Tensor, width: int, dtype: torch.dtype) -> torch.Tensor:
    """Return, for each word of a boolean mask (B, n), the sinusoids of its position among the words of its text.

    They are (B, n, width).
    """
    table = sinusoidal_positions(mask.size(1), width, device=mask.device, dtype=dtype)
    return table[(mask.cumsum(dim=1) - 1).clamp(min=0)]
