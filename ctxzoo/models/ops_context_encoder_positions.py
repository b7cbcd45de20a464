"""Positions of the steps of a sequence: which they are, which are kept, and rotary encoding (Su et al. 2021)."""

import torch


def step_positions(mask: torch.Tensor, read: torch.Tensor | None) -> torch.Tensor:
    """Return the position of each step among the real steps of its sequence, (B, n) int64, counted from 0.

    Args:
        mask: boolean (B, n), True at real steps.
        read: (B,) real steps that were read before; None: none.
    """
    positions = (mask.long().cumsum(dim=1) - 1).clamp(min=0)
    return positions if read is None else positions + read.unsqueeze(1)


def kept_places(kept: int | torch.Tensor, number: int, device: torch.device) -> torch.Tensor:
    """Return the places (K,) int64 of the steps to keep among `number`: the last so many, or any that are given.

    Raises:
        ValueError: more than there are, fewer than one, or places that are no (K,) of whole numbers below it.
    """
    if isinstance(kept, torch.Tensor):
        if kept.dim() != 1 or kept.is_floating_point() or kept.dtype == torch.bool:
            raise ValueError(f"steps to keep are {tuple(kept.shape)} of {kept.dtype}: expected places (K,) of int64")
        if not torch.compiler.is_compiling() and kept.numel():
            first, last = int(kept.min()), int(kept.max())
            if first < 0 or last >= number:
                raise ValueError(f"steps to keep are places {first} to {last}: expected 0 to {number - 1}")
        return kept.to(device=device, dtype=torch.int64)
    if not 1 <= kept <= number:
        raise ValueError(f"steps to keep are the last {kept} of {number}: expected 1 to {number}, or 0 for all")
    return torch.arange(number - kept, number, device=device)


def sinusoids_at(positions: torch.Tensor, width: int, dtype: torch.dtype) -> torch.Tensor:
    """Return the sinusoids (B, n, width) of positions (B, n), as `sinusoidal_positions` has them; `width` is even."""
    angles = _angles(positions, width)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).to(dtype)


def rotary_factors(positions: torch.Tensor, head_size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosines and sines (B, 1, n, d / 2) by which `rotate` turns pairs of numbers, in float64."""
    angles = _angles(positions, head_size).unsqueeze(1)
    return angles.cos(), angles.sin()


def rotate(x: torch.Tensor, factors: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Turn each pair (x_2i, x_2i+1) by the angle pos / 10000^(2i/d), so that q.k depends on distances alone.

    Args:
        x: (B, h, n, d), d even.
        factors: see `rotary_factors`.

    Returns:
        (B, h, n, d), every pair as long as before.
    """
    cosines, sines = (each.to(torch.promote_types(x.dtype, torch.float32)) for each in factors)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([even * cosines - odd * sines, even * sines + odd * cosines], dim=-1)
    return turned.flatten(-2).to(x.dtype)


def _angles(positions: torch.Tensor, width: int) -> torch.Tensor:
    """Return pos / 10000^(2i/width), (B, n, width / 2), in float64: float32 loses the fine end at large positions."""
    exponents = torch.arange(0, width, 2, dtype=torch.float64, device=positions.device) / width
    return positions.double().unsqueeze(-1) * 10000.0**-exponents


def reference_rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Compute what `rotate` gives in float64 with complex numbers: pairs times e^(i angle)."""
    width = x.size(-1)
    pairs = torch.view_as_complex(x.double().reshape(*x.shape[:-1], width // 2, 2))
    angles = torch.tensor(
        [[[float(place) / 10000 ** (2 * i / width) for i in range(width // 2)] for place in row] for row in positions],
        dtype=torch.float64,
    )
    return torch.view_as_real(pairs * torch.exp(1j * angles).unsqueeze(1)).flatten(-2)
