"""Softmax over the keys that a query sees, attention by kernels, and rotary positions, written plainly in float64."""

from __future__ import annotations

import torch


def reference_attend(energy: torch.Tensor, value: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
    """Compute the outputs of `softmax_attention` in float64, query by query, over the visible keys alone."""
    visible = visible.expand_as(energy)
    output = torch.zeros(*energy.shape[:3], value.size(-1), dtype=torch.float64)
    for place in torch.cartesian_prod(*(torch.arange(size) for size in energy.shape[:3])).tolist():
        row, head, query = place
        seen = visible[row, head, query]
        if seen.any():
            weights = energy[row, head, query, seen].double().exp()
            output[row, head, query] = weights / weights.sum() @ value[row, head, seen].double()
    return output


def reference_kernel_attention(
    log_similarity: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    visible: torch.Tensor,
    p_norm: float,
    scale: float,
) -> torch.Tensor:
    """Compute attention with a kernel and the L^p importance of keys in float64, query by query and key by key.

    Args:
        log_similarity: (B, h, queries, keys).
        key, value: (B, h, keys, d) and (B, h, keys, dv).
        visible: boolean, broadcastable to the similarity.
        p_norm: p.
        scale: s.

    Returns:
        (B, h, queries, dv).
    """
    energy = log_similarity.double().clone()
    for place in torch.cartesian_prod(*(torch.arange(size) for size in key.shape[:3])).tolist():
        row, head, position = place
        power = sum(abs(float(number)) ** p_norm for number in key[row, head, position])
        energy[row, head, :, position] += power ** (2 / p_norm) / (2 * scale)
    return reference_attend(energy, value, visible)


def reference_rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Compute what `apply_rotary_factors` gives in float64 with complex numbers: pairs times e^(i angle)."""
    width = x.size(-1)
    pairs = torch.view_as_complex(x.double().reshape(*x.shape[:-1], width // 2, 2))
    angles = torch.tensor(
        [[[float(place) / 10000 ** (2 * i / width) for i in range(width // 2)] for place in row] for row in positions],
        dtype=torch.float64,
    )
    return torch.view_as_real(pairs * torch.exp(1j * angles).unsqueeze(1)).flatten(-2)
