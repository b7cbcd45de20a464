"""Attention of higher order, written plainly in float64: pair by pair and tuple by tuple."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import torch

from ctxzoo.models.ops_higher_order_encoder import PairScore


def reference_pair_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    second_key: torch.Tensor,
    second_value: torch.Tensor,
    mask: torch.Tensor | None = None,
    causal: bool = False,
    *,
    score: PairScore = "trilinear",
    distinct: bool = False,
    window: tuple[int, int] | None = None,
) -> torch.Tensor:
    """Compute what `pair_attention` or, with a window, `windowed_pair_attention` gives, in float64, pair by pair."""
    q, k, v, c, u = (tensor.double() for tensor in (query, key, value, second_key, second_value))
    batch, heads, num_queries, size = q.shape
    length = k.size(2)
    out = torch.zeros(batch, heads, num_queries, v.size(-1), dtype=torch.float64)
    for b, h, i in torch.cartesian_prod(*(torch.arange(n) for n in (batch, heads, num_queries))).tolist():
        above, below = out.new_zeros(v.size(-1)), out.new_zeros(())
        place = i + length - num_queries
        for j in range(length):
            for m in range(length):
                hidden = (causal or window is not None) and (j > place or m > place)
                far = window is not None and (j <= place - window[0] or m <= place - window[1])
                padded = mask is not None and not (mask[b, j] and mask[b, m])
                if hidden or far or padded or (distinct and j == m):
                    continue
                a, x, y = q[b, h, i], k[b, h, j], c[b, h, m]
                if score == "trilinear":
                    number = (a * x * y).sum() / math.sqrt(size)
                else:
                    number = ((a @ x) * y - (a @ y) * x + (x @ y) * a).norm()
                above, below = above + number.exp() * v[b, h, j] * u[b, h, m], below + number.exp()
        if below > 0:
            out[b, h, i] = above / below
    return out


def reference_contextual_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    context: torch.Tensor,
    weights: torch.Tensor,
    strength: torch.Tensor,
    visible: torch.Tensor,
) -> torch.Tensor:
    """Compute contextual attention in float64 from the third-order scores <q_i, k_j, c_l>, summed with weights g.

    Args:
        query, key, value, context: q, k, v, c of (B, h, n, .).
        weights: g (B, h, T, L).
        strength: lambda (h,).
        visible: boolean, broadcastable to (B, h, T, L).
    """
    q, k, v, c, g = (tensor.double() for tensor in (query, key, value, context, weights))
    third = torch.einsum("bhid,bhjd,bhld,bhil->bhij", q, k, c, g)
    scores = (q @ k.mT + strength.double()[:, None, None] * third) / math.sqrt(q.size(-1))
    powers = torch.where(visible, scores.exp(), 0.0)
    return powers @ v / powers.sum(dim=-1, keepdim=True).clamp(min=1e-300)


def reference_factorised_attention(
    query: torch.Tensor,
    keys: Sequence[torch.Tensor],
    values: Sequence[torch.Tensor],
    mask: torch.Tensor | None = None,
    causal: bool = False,
    *,
    distinct: bool = False,
) -> torch.Tensor:
    """Compute what `factorised_attention` gives in float64, tuple by tuple."""
    batch, heads, num_queries, _ = query.shape
    length, width = keys[0].size(2), len(keys)
    out = torch.zeros(batch, heads, num_queries, values[0].size(-1), dtype=torch.float64)
    for b, h, i in torch.cartesian_prod(*(torch.arange(n) for n in (batch, heads, num_queries))).tolist():
        last = i + length - num_queries if causal else length - 1
        seen = [j for j in range(last + 1) if mask is None or mask[b, j]]
        places = torch.cartesian_prod(*[torch.tensor(seen, dtype=torch.int64)] * width).reshape(-1, width).tolist()
        above, below = out.new_zeros(out.size(-1)), out.new_zeros(())
        for chosen in places:
            if distinct and len(set(chosen)) < width:
                continue
            weight, value = query[b, h, i].double(), torch.ones_like(above)
            for key, content, place in zip(keys, values, chosen, strict=True):
                weight, value = weight * key[b, h, place].double(), value * content[b, h, place].double()
            above, below = above + weight.sum() * value, below + weight.sum()
        if below > 0:
            out[b, h, i] = above / below
    return out


def reference_anova(left: torch.Tensor, right: torch.Tensor, order: int) -> torch.Tensor:
    """Compute A^order in float64 from all ordered choices of different positions, each counted order! times."""
    products = (left * right).double()
    total = products.new_zeros(products.shape[:-1])
    for chosen in permutations(range(products.size(-1)), order):
        total = total + products[..., list(chosen)].prod(dim=-1)
    return total / math.factorial(order)
