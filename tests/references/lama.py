"""Attention of low rank (Mehta et al. 2019, section 3.3), word by word and head by head, in float64."""

from __future__ import annotations

import math

import torch


def reference_low_rank_attention(
    words: torch.Tensor,
    context: torch.Tensor,
    context_factors: torch.Tensor,
    word_factors: torch.Tensor,
    mask: torch.Tensor,
    *,
    rank: int = 1,
    l2_normalize: bool = True,
    logit_scale: float = 1.0,
) -> torch.Tensor:
    """Compute what `LowRankAttention` gives in float64, word by word and head by head.

    Args:
        words: (B, n, r).
        context: (B, D).
        context_factors, word_factors: P (D, m k) and Q (r, m k).
        mask: boolean (B, n).
        rank: k.
        l2_normalize, logit_scale: as in `LowRankAttention`.

    Returns:
        A (B, m, n) in float64.
    """
    batch, length, _ = words.shape
    heads = word_factors.size(1) // rank
    weights = torch.zeros(batch, heads, length, dtype=torch.float64)
    for row in range(batch):
        real = [position for position in range(length) if mask[row, position]]
        scores = {}
        for position in real:
            of_heads = []
            for head in range(heads):
                total = 0.0
                for column in range(head * rank, (head + 1) * rank):
                    left = context[row].double() @ context_factors[:, column].double()
                    total += float(left * (words[row, position].double() @ word_factors[:, column].double()))
                of_heads.append(math.tanh(total))
            size = max(math.sqrt(sum(score**2 for score in of_heads)), 1e-12) if l2_normalize else 1.0
            scores[position] = [logit_scale * score / size for score in of_heads]
        for head in range(heads):
            total = sum(math.exp(scores[position][head]) for position in real)
            for position in real:
                weights[row, head, position] = math.exp(scores[position][head]) / total
    return weights
