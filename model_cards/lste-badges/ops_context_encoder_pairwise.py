"""Attention over all pairs of queries and keys, of which no table is kept: its memory grows with n and not with n^2."""

import math
from typing import Any

import torch
from torch.nn import functional as F

from .ops_context_encoder_kernels import FLOOR, visible_keys
from .ops_gradients import without_second_derivative

# Pairs whose kernel is computed at a time: on a CPU what stays in the cache of a core, elsewhere what fills the device.
CPU_PAIRS = 2**18
DEVICE_PAIRS = 2**26
KEPT_PAIRS = 2**24  # of so many, or fewer, the backward pass finds the products as the forward pass left them


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
        query, key: (B, h, queries, d) and (B, h, keys, d).
        value: (B, h, keys, dv).
        mask: boolean (B, keys), True where a key is real; None: all are.
        causal: query i sees keys up to i + keys - queries.
        key_bias: b, (B, h, keys), in nats; None: 0.

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
    if mask is None and (not causal or query.size(2) == key.size(2)):
        output = F.scaled_dot_product_attention(query, key, values, is_causal=causal, scale=1 / root)
    else:
        seen = visible_keys(mask, query.size(2), key.size(2), causal, query.device)
        some = seen.any(dim=-1, keepdim=True)
        # A row that sees nothing would be NaN, in some kernels only.
        output = F.scaled_dot_product_attention(query, key, values, attn_mask=seen | ~some, scale=1 / root) * some
    return output[..., :size].to(value.dtype)


def squared_product_attention(
    query_features: torch.Tensor,
    key_features: torch.Tensor,
    importance: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
) -> torch.Tensor:
    """Return the outputs of a softmax of log(r^2 + 1e-5) + importance over the real keys, r = phi(q).phi(k).

    Neither the logarithm nor the exponential is taken: with e_k = exp(importance - largest importance), the output is
    sum_k (r^2 + 1e-5) e_k v_k / sum_k (r^2 + 1e-5) e_k, and the denominator is 1e-5 or more.

    Args:
        query_features, key_features: phi, (B, h, queries, F) and (B, h, keys, F) in float32 or wider.
        importance: (B, h, keys) in nats.
        value: (B, h, keys, dv).
        mask: boolean (B, keys), True where a key is real; None: all are.

    Returns:
        (B, h, queries, dv) in the type of the values, 0 in a row without any key.
    """
    if not importance.size(-1):
        return value.new_zeros(*query_features.shape[:3], value.size(-1))
    if mask is not None:
        importance = importance.masked_fill(~mask.unsqueeze(1), torch.finfo(importance.dtype).min)
    # Of the result the largest is no part: it cancels.
    factor = (importance - importance.detach().amax(dim=-1, keepdim=True)).exp()
    if mask is not None:
        factor = factor.masked_fill(~mask.unsqueeze(1), 0.0)  # where no key is real all would be 1
    weighed = torch.cat([value.to(factor.dtype), torch.ones_like(factor.unsqueeze(-1))], dim=-1) * factor.unsqueeze(-1)
    sums: torch.Tensor
    if torch.compiler.is_compiling():  # which finds blocks of its own
        sums = (query_features @ key_features.transpose(-1, -2)).square() @ weighed
    else:
        grouped = (x.flatten(0, 1) for x in (query_features, key_features, weighed.mT.contiguous()))
        sums = _SquaredProductSums.apply(*grouped, torch.is_grad_enabled())  # type: ignore[no-untyped-call]
        sums = sums.view(*value.shape[:2], *sums.shape[1:]).mT
    sums = sums + FLOOR * weighed.sum(dim=2, keepdim=True)
    totals = sums[..., -1:]
    if mask is not None:
        totals = totals.masked_fill(totals == 0, 1.0)
    return (sums[..., :-1] / totals).to(value.dtype)


class _SquaredProductSums(torch.autograd.Function):
    """sum_k (phi(q).phi(k))^2 v_k, (G, dv, queries), of (G, queries, F), (G, keys, F) and (G, dv, keys).

    Values stand across, for their products with wide tables: with dv = 9 these take a third to a sixth of the time.
    """

    @staticmethod
    def forward(
        ctx: Any, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, differentiated: bool
    ) -> torch.Tensor:
        groups, number = queries.shape[:2]
        sums = values.new_empty(groups, values.size(1), number)
        kept = None
        if differentiated and groups * number * keys.size(1) <= KEPT_PAIRS:
            kept = queries.new_empty(groups, number, keys.size(1))
        for group, rows in _parts(queries, keys):
            products = torch.bmm(queries[group, rows], keys[group].mT, out=None if kept is None else kept[group, rows])
            squares = products.square_() if kept is None else products.square()
            sums[group, :, rows] = values[group] @ squares.mT
        ctx.save_for_backward(queries, keys, values, kept)
        return sums

    @staticmethod
    @without_second_derivative("attention by a learned kernel")
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, None]:
        queries, keys, values, kept = ctx.saved_tensors
        (of_sums,) = gradients
        of_queries, of_keys, of_values = torch.empty_like(queries), torch.zeros_like(keys), torch.zeros_like(values)
        for group, rows in _parts(queries, keys):
            # Of many pairs computed again, as cheap as to read it from memory.
            products = queries[group, rows] @ keys[group].mT if kept is None else kept[group, rows]
            slopes = (of_sums[group, :, rows].mT @ values[group]).mul_(products)
            of_queries[group, rows] = slopes @ keys[group]
            of_keys[group].baddbmm_(slopes.mT, queries[group, rows])
            squares = products.square_() if kept is None else torch.square(products, out=slopes)
            of_values[group].baddbmm_(of_sums[group, :, rows], squares)
        return of_queries.mul_(2), of_keys.mul_(2), of_values, None


def _parts(queries: torch.Tensor, keys: torch.Tensor) -> list[tuple[slice, slice]]:
    """Return which groups and which queries of them are read at a time."""
    limit = CPU_PAIRS if queries.device.type == "cpu" else DEVICE_PAIRS
    groups, number = queries.shape[:2]
    rows = max(1, min(number, limit // max(1, keys.size(1))))
    together = max(1, limit // max(1, rows * keys.size(1)))
    return [
        (slice(group, group + together), slice(row, row + rows))
        for group in range(0, groups, together)
        for row in range(0, number, rows)
    ]
