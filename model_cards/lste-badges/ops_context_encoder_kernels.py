"""Attention as a kernel: similarity times importance, and the softmax over the keys that a query sees."""

import math
import warnings

import torch
from torch import nn
from torch.nn import functional as F

from .ops_dropout import dropout

FLOOR = 1e-5  # added to a kernel's value before its logarithm is taken
CLOSEST = 1e-6  # least absolute value of a number whose power is taken


def at_least_single(x: torch.Tensor) -> torch.Tensor:
    """Return x in float32, or as it is where it is wider."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def map_in_type(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return what a linear layer makes of x, in the type of x, whatever that of its weights.

    The layer is called, so that one in its place (an adapter of LoRA, a quantised map, one with hooks) has its say;
    only the weights of a plain layer of another type are widened.
    """
    weight: object = layer.weight
    if not isinstance(weight, torch.Tensor) or weight.dtype == x.dtype:
        mapped: torch.Tensor = layer(x)
        return mapped
    if isinstance(layer, nn.Linear):
        return F.linear(x, weight.to(x.dtype), None if layer.bias is None else layer.bias.to(x.dtype))
    narrow: torch.Tensor = layer(x.to(weight.dtype))
    return narrow.to(x.dtype)


def visible_keys(
    mask: torch.Tensor | None, queries: int, keys: int, causal: bool, device: torch.device
) -> torch.Tensor:
    """Return which keys each query sees, boolean, broadcastable to (B, h, queries, keys).

    Args:
        mask: boolean (B, keys), True where a key is real; None: all are.
        causal: query i sees keys up to i + keys - queries.
    """
    visible = torch.ones(1, 1, 1, keys, dtype=torch.bool, device=device) if mask is None else mask[:, None, None, :]
    if causal:
        own = torch.arange(queries, device=device).unsqueeze(1) + (keys - queries)
        visible = visible & (torch.arange(keys, device=device) <= own)
    return visible


def check_norm(p_norm: float) -> None:
    """Check the p of a norm.

    Raises:
        ValueError: 0, below, or infinite.
    """
    if not 0 < p_norm < math.inf:
        raise ValueError(f"p_norm must be above 0 and finite, got {p_norm}")


def check_importance(p_norm: float) -> None:
    """Check the p of an importance, and warn below 1.

    Raises:
        ValueError: see `check_norm`.
    """
    check_norm(p_norm)
    if p_norm < 1:
        warnings.warn(
            f"p_norm={p_norm}: below 1 the importance of a key grows by powers of its width; one key may take all",
            stacklevel=3,
        )


def squared_norm(x: torch.Tensor, p_norm: float) -> torch.Tensor:
    """Return the square of the L^p norm, (sum |x|^p)^(2/p), over the last dimension (IKAN).

    Below p = 1 it is a quasi-norm. |x| is taken to be at least 1e-6, since |x|^p has no finite derivative at 0 there.

    Args:
        x: (..., d) in float32 or wider.
        p_norm: p, above 0 and finite.

    Returns:
        (...), d^(2/p) 1e-12 where x is 0 and p is not 2.

    Raises:
        ValueError: p_norm of 0, below, or infinite.
    """
    check_norm(p_norm)
    if p_norm == 2:
        norm: torch.Tensor = torch.linalg.vector_norm(x, dim=-1)  # reads x once
        return norm.square()
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
        scale: s.
    """
    lengths = query.square().sum(dim=-1).unsqueeze(-1) + key.square().sum(dim=-1).unsqueeze(-2)
    squares = lengths - 2 * (query @ key.transpose(-1, -2))
    # By rounding the difference may come out below 0.
    return squares.clamp(min=0.0) / (-2 * scale)


def linear_log_kernel(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """Return log((1 + cos(q, k)) / 2 + 1e-5), (B, h, queries, keys); a vector of length 0 has the cosine 0."""
    cosines = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(-1, -2)
    return ((1 + cosines) / 2 + FLOOR).log()


def expsin_log_kernel(query: torch.Tensor, key: torch.Tensor, period: float, length: float) -> torch.Tensor:
    """Return the logarithm of a product of periodic kernels, -(2 / l^2) mean_d sin^2(pi (q_d - k_d) / P).

    Args:
        query, key: (B, h, queries, d) and (B, h, keys, d) in float32 or wider.
        period: P.
        length: l.

    Returns:
        (B, h, queries, keys), at most 0.
    """
    # 2 sin^2(x) = 1 - cos(2 x), and a cosine of a difference is a product of waves.
    waves = [torch.cat([(angles := 2 * math.pi * x / period).cos(), angles.sin()], dim=-1) for x in (query, key)]
    cosines = waves[0] @ waves[1].transpose(-1, -2) / query.size(-1)
    return (cosines - 1).clamp(max=0.0) / length**2


def attend(
    energy: torch.Tensor, value: torch.Tensor, visible: torch.Tensor, rate: float = 0.0, training: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the outputs and the weights of a softmax over the keys that each query sees.

    Args:
        energy: (B, h, queries, keys) in nats, float32 or wider.
        value: (B, h, keys, dv).
        visible: boolean, broadcastable to the energy.
        rate: rate of dropout on the weights.
        training: whether to drop.

    Returns:
        (B, h, queries, dv) in the type of the values, and the weights (B, h, queries, keys) before dropout; both 0 for
        a query that sees no key.
    """
    # The lowest finite number, not -inf: a row without any key is uniform, and then 0, instead of NaN.
    weights = energy.masked_fill(~visible, torch.finfo(energy.dtype).min).softmax(dim=-1)
    weights = weights.masked_fill(~visible, 0.0)
    output = dropout(weights, rate, training).to(value.dtype) @ value
    return output, weights


def reference_attend(energy: torch.Tensor, value: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
    """Compute the outputs of `attend` in float64, query by query, with exponentials of the visible keys alone."""
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
