"""Attention in linear time, written plainly in float64: query by query and key by key."""

from __future__ import annotations

import torch

from ctxzoo.models.ops_linear_encoder import Features, _evaluate_query_features, feature_values


def reference_linear_attention(
    query: Features,
    key: Features,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
    causal: bool = False,
    eps: float = 1e-6,
) -> torch.Tensor:
    """Compute what `linear_attention` gives in float64, query by query and key by key, nothing taken away from keys."""
    phi_q = _evaluate_query_features(_double(query), eps)
    phi_k = feature_values(_double(key))
    batch, heads, num_queries, _ = phi_q.shape
    num_keys = phi_k.size(2)
    out = torch.zeros(batch, heads, num_queries, value.size(-1), dtype=torch.float64)
    for b in range(batch):
        for h in range(heads):
            for i in range(num_queries):
                above = torch.zeros(value.size(-1), dtype=torch.float64)
                below = torch.zeros((), dtype=torch.float64)
                for j in range(min(num_keys, i + num_keys - num_queries + 1) if causal else num_keys):
                    if mask is None or mask[b, j]:
                        weight = phi_q[b, h, i] @ phi_k[b, h, j]
                        above, below = above + weight * value[b, h, j].double(), below + weight
                out[b, h, i] = above / below if below != 0 else 0
    return out


def _double(features: Features) -> Features:
    """Return the same features in float64."""
    exponent, factor, offset, signed = features
    return Features(
        None if exponent is None else exponent.double(),
        None if factor is None else factor.double(),
        offset.double(),
        signed,
    )
