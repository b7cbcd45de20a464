"""The overlap of attention heads (Lin et al. 2017, equation 8), entry by entry, in float64."""

from __future__ import annotations

import torch


def reference_attention_overlap(weights: torch.Tensor) -> torch.Tensor:
    """Compute what `attention_overlap` gives in float64, entry by entry."""
    overlaps = []
    for heads in weights.double():
        if not heads.any():
            continue
        overlap = heads.new_zeros(())
        for row in range(len(heads)):
            for column in range(len(heads)):
                product = sum(heads[row, word] * heads[column, word] for word in range(heads.size(1)))
                overlap = overlap + (product - int(row == column)) ** 2
        overlaps.append(overlap)
    return torch.stack(overlaps).mean() if overlaps else weights.new_zeros((), dtype=torch.float64)
