"""Second-order attention from its tensor of three dimensions, row by row, in float64."""

from __future__ import annotations

import torch


def reference_second_order_attention(
    x: torch.Tensor,
    context: torch.Tensor,
    token_factors: torch.Tensor,
    context_factors: torch.Tensor,
    feature_factors: torch.Tensor,
    mask: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute out (B, m) and a (B, n, m) in float64, row by row, from the tensor T_jab = sum_r W_jr U_ra V_rb.

    Args:
        x, context: (B, n, m), (B, m).
        token_factors, context_factors, feature_factors: U (u, m), V (u, m), W (m, u).
        mask: boolean (B, n).
    """
    tensor = torch.einsum("jr,ra,rb->jab", feature_factors.double(), token_factors.double(), context_factors.double())
    outs, weights = [], []
    for row in range(x.size(0)):
        tokens, real = x[row].double(), mask[row]
        scores = torch.einsum("jab,na,b->nj", tensor, tokens, context[row].double())
        a = torch.zeros_like(scores)
        if real.any():
            a[real] = torch.softmax(scores[real], dim=0)
        weights.append(a)
        outs.append((a * tokens).sum(dim=0))
    return torch.stack(outs), torch.stack(weights)
