"""The value of a learned kernel, written plainly in float64."""

from __future__ import annotations

import math

import torch

from ctxzoo.models.ops_kernel_encoder import FLOOR


def reference_log_kernel(
    query: torch.Tensor, key: torch.Tensor, first: torch.Tensor, second: torch.Tensor
) -> torch.Tensor:
    """Compute log(r^2 + 1e-5), (queries, keys), of one head in float64, pair by pair and frequency by frequency.

    Args:
        query, key: (queries, d), (keys, d).
        first, second: w1 and w2, (M, d).
    """
    values = torch.zeros(len(query), len(key), dtype=torch.float64)
    for i, q in enumerate(query.double()):
        for j, k in enumerate(key.double()):
            total = 0.0
            for w1, w2 in zip(first.double(), second.double(), strict=True):
                at_q, at_k = ([2 * math.pi * (w @ x).item() for w in (w1, w2)] for x in (q, k))
                total += sum(math.cos(a) for a in at_q) * sum(math.cos(a) for a in at_k)
                total += sum(math.sin(a) for a in at_q) * sum(math.sin(a) for a in at_k)
            values[i, j] = math.log((total / (4 * len(first))) ** 2 + FLOOR)
    return values
