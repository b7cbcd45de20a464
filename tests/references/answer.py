"""The best span of a context, found by looking at every pair of positions."""

from __future__ import annotations

import torch


def reference_best_span(
    start_scores: torch.Tensor, end_scores: torch.Tensor, max_length: int
) -> tuple[int, int, float]:
    """Compute what `best_spans` gives for one row (C,) without padding, by looking at every pair: (i, j, score)."""
    best = (0, 0, float("-inf"))
    for i in range(1, len(start_scores)):
        for j in range(i, min(i + max_length, len(start_scores))):
            score = (start_scores[i] + end_scores[j]).item()
            if score > best[2]:
                best = (i, j, score)
    return best
