"""Attention of the encoders: the keys that a query sees, softmax over them, norms and kernels, and positions."""

import math
import warnings

import torch
from torch.nn import functional as F

from .ops_execution import dropout

CLOSEST = 1e-6  # least absolute value of a number whose power is taken


def make_visibility_mask(
    mask: torch.Tensor | None, queries: int, keys: int, causal: bool, device: torch.device
) -> torch.Tensor:
    """Return which keys each query sees, boolean, broadcastable to (B, h, queries, keys).

    Args:
        mask: Boolean (B, keys), True where a key is real; None: all are.
        causal: Whether query i sees only keys up to i + keys - queries.
    """
    visible = torch.ones(1, 1, 1, keys, dtype=torch.bool, device=device) if mask is None else mask[:, None, None, :]
    if causal:
        own = torch.arange(queries, device=device).unsqueeze(1) + (keys - queries)  # (queries, 1)
        visible = visible & (torch.arange(keys, device=device) <= own)  # (B or 1, 1, queries, keys)
    return visible


def check_p_norm(p_norm: float) -> None:
    """Check the p of a norm.

    Raises:
        ValueError: 0, below, or infinite.
    """
    if not 0 < p_norm < math.inf:
        raise ValueError(f"p_norm must be above 0 and finite, got {p_norm}")


def check_importance_p_norm(p_norm: float) -> None:
    """Check the p of an importance, and warn below 1.

    Raises:
        ValueError: see `check_p_norm`.
    """
    check_p_norm(p_norm)
    if p_norm < 1:
        warnings.warn(
            f"p_norm={p_norm}: below 1 the importance of a key grows by powers of its width; one key may take all",
            stacklevel=3,
        )


def squared_norm(x: torch.Tensor, p_norm: float) -> torch.Tensor:
    """Return the square of the L^p norm, (sum |x|^p)^(2/p), over the last dimension (IKAN).

    Below p = 1 it is a quasi-norm. |x| is taken to be at least 1e-6, since |x|^p has no finite derivative at 0 there.

    Args:
        x: (..., d) vectors in float32 or wider.
        p_norm: Exponent p of the norm, above 0 and finite.

    Returns:
        (...), d^(2/p) 1e-12 where x is 0 and p is not 2.

    Raises:
        ValueError: p_norm of 0, below, or infinite.
    """
    check_p_norm(p_norm)
    if p_norm == 2:
        return x.square().sum(-1)
    size = x.abs().clamp(min=CLOSEST)
    # Powers of ratios to the largest neither overflow nor vanish. The norm is homogeneous, so that the largest may
    # stand for a constant in the gradient.
    largest = size.detach().amax(dim=-1, keepdim=True)
    ratio = (size / largest).pow(p_norm).sum(dim=-1).pow(2 / p_norm)
    return ratio * largest.squeeze(-1).square()


def rbf_log_kernel(query: torch.Tensor, key: torch.Tensor, scale: float) -> torch.Tensor:
    """Return the logarithm of the RBF kernel, -||q - k||^2 / (2 s), (B, h, queries, keys), at most 0.

    Args:
        query, key: (B, h, queries, d) and (B, h, keys, d) in float32 or wider.
        scale: Scale s, half the divisor of the squared distance of query and key.
    """
    # ||q - k||^2 = ||q||^2 + ||k||^2 - 2 q.k, without a tensor of the differences.
    lengths = query.square().sum(dim=-1).unsqueeze(-1) + key.square().sum(dim=-1).unsqueeze(-2)
    squares = lengths - 2 * (query @ key.transpose(-1, -2))
    # By rounding the difference may come out below 0.
    return squares.clamp(min=0.0) / (-2 * scale)


def softmax_attention(
    energy: torch.Tensor, value: torch.Tensor, visible: torch.Tensor, rate: float = 0.0, training: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the outputs and the weights of a softmax over the keys that each query sees.

    Args:
        energy: (B, h, queries, keys) scores in nats, float32 or wider.
        value: (B, h, keys, dv) values of all heads.
        visible: Booleans that broadcast to the scores, True where a query sees a key.
        rate: Dropout rate on the weights.
        training: Whether dropout is on.

    Returns:
        (B, h, queries, dv) in the type of the values, and the weights (B, h, queries, keys) before dropout; both 0 for
        a query that sees no key.
    """
    # The lowest finite number, not -inf: a row without any key is uniform, and then 0, instead of NaN.
    weights = energy.masked_fill(~visible, torch.finfo(energy.dtype).min).softmax(dim=-1)
    weights = weights.masked_fill(~visible, 0.0)
    output = dropout(weights, rate, training).to(value.dtype) @ value
    return output, weights


def fused_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    causal: bool,
    *,
    key_bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the outputs of a softmax of q.k / sqrt(d) + b_k over the keys that each query sees, by torch's kernel.

    Args:
        query, key: Queries (B, h, queries, d) and keys (B, h, keys, d).
        value: (B, h, keys, dv) values of all heads.
        mask: Boolean (B, keys), True where a key is real; None: all are.
        causal: Whether query i sees only keys up to i + keys - queries.
        key_bias: (B, h, keys) bias b of the keys' scores in nats; None: 0.

    Returns:
        (B, h, queries, dv) in the type of the values, 0 for a query that sees no key.
    """
    size, root = value.size(-1), math.sqrt(query.size(-1))
    values = value.to(query.dtype)
    if key_bias is not None:
        # As one more number of each key, which the queries have as sqrt(d): kernels give no gradient of a mask.
        query = torch.cat([query, torch.full_like(query[..., :1], root)], dim=-1)
        key = torch.cat([key, key_bias.unsqueeze(-1)], dim=-1)
        values = F.pad(values, (0, max(0, query.size(-1) - size)))  # fused kernels want equal widths
    # `is_causal` of torch counts queries and keys from the first, so that it serves equal numbers alone.
    if mask is None and (not causal or query.size(2) == key.size(2)):
        output = F.scaled_dot_product_attention(query, key, values, is_causal=causal, scale=1 / root)
    else:
        visible = make_visibility_mask(mask, query.size(2), key.size(2), causal, query.device)
        sees_any = visible.any(dim=-1, keepdim=True)
        # A row that sees nothing would be NaN, in some kernels only.
        output = (
            F.scaled_dot_product_attention(query, key, values, attn_mask=visible | ~sees_any, scale=1 / root) * sees_any
        )
    return output[..., :size].to(value.dtype)


def count_step_positions(mask: torch.Tensor, num_read: torch.Tensor | None) -> torch.Tensor:
    """Return the position of each step among the real ones of its sequence, (B, n) int64, from 0 or `num_read`.

    Args:
        mask: Boolean (B, n), True at real steps.
        num_read: (B,) numbers of real steps that were read before; None: none.
    """
    positions = (mask.long().cumsum(dim=1) - 1).clamp(min=0)
    return positions if num_read is None else positions + num_read.unsqueeze(1)


def positions_to_keep(steps_to_keep: int | torch.Tensor, num_steps: int, device: torch.device) -> torch.Tensor:
    """Return the indices (K,) int64 of the steps to compute: the last `steps_to_keep`, or any given ones.

    Raises:
        ValueError: more than there are, fewer than one, or places that are no (K,) of whole numbers below it.
    """
    if isinstance(steps_to_keep, torch.Tensor):
        if steps_to_keep.dim() != 1 or steps_to_keep.is_floating_point() or steps_to_keep.dtype == torch.bool:
            raise ValueError(
                f"steps to keep are {tuple(steps_to_keep.shape)} of {steps_to_keep.dtype}: "
                "expected places (K,) of int64"
            )
        if not torch.compiler.is_compiling() and steps_to_keep.numel():
            first, last = int(steps_to_keep.min()), int(steps_to_keep.max())
            if first < 0 or last >= num_steps:
                raise ValueError(f"steps to keep are places {first} to {last}: expected 0 to {num_steps - 1}")
        return steps_to_keep.to(device=device, dtype=torch.int64)
    if not 1 <= steps_to_keep <= num_steps:
        raise ValueError(
            f"steps to keep are the last {steps_to_keep} of {num_steps}: expected 1 to {num_steps}, or 0 for all"
        )
    return torch.arange(num_steps - steps_to_keep, num_steps, device=device)


def sinusoids_at_positions(positions: torch.Tensor, width: int, dtype: torch.dtype) -> torch.Tensor:
    """Return the sinusoids (B, n, width) of positions (B, n), as `sinusoidal_positions` has them; `width` is even."""
    angles = _compute_position_angles(positions, width)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).to(dtype)  # sines and cosines by turns


def rotary_factors(positions: torch.Tensor, head_size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosines and sines (B, 1, n, d / 2), in float64, for `apply_rotary_factors`."""
    angles = _compute_position_angles(positions, head_size).unsqueeze(1)
    return angles.cos(), angles.sin()


def apply_rotary_factors(x: torch.Tensor, factors: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Turn each pair (x_2i, x_2i+1) by the angle pos / 10000^(2i/d), so that q.k depends on distances alone.

    Args:
        x: (B, h, n, d) queries or keys, d even.
        factors: Cosines and sines, as `rotary_factors` returns them.

    Returns:
        (B, h, n, d), every pair as long as before.
    """
    cosines, sines = (each.to(torch.promote_types(x.dtype, torch.float32)) for each in factors)
    even, odd = x[..., 0::2], x[..., 1::2]  # (B, h, n, d / 2) each
    # Pairs are neighbours, 2i and 2i + 1, not halves of the head.
    turned = torch.stack([even * cosines - odd * sines, even * sines + odd * cosines], dim=-1)
    return turned.flatten(-2).to(x.dtype)


def _compute_position_angles(positions: torch.Tensor, width: int) -> torch.Tensor:
    """Return pos / 10000^(2i/width), (B, n, width / 2), in float64: float32 loses the fine end at large positions."""
    exponents = torch.arange(0, width, 2, dtype=torch.float64, device=positions.device) / width
    return positions.double().unsqueeze(-1) * 10000.0**-exponents
