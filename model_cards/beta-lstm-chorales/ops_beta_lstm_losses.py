"""The loss of a model that gives each step several labels at once."""

import torch
from torch.nn import functional as F


def label_losses(logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the binary cross-entropy of each step and label in nats, (B, n, L) in float32 or wider, 0 at padding.

    Args:
        logits: (B, n, L).
        labels: (B, n, L) numbers from 0 to 1; any at padding.
        mask: boolean (B, n), True at real steps.

    Raises:
        ValueError: labels of another shape or type, or beyond 0 and 1 (read on the CPU only: on a device it would wait
            for the queue).
    """
    if labels.shape != logits.shape:
        raise ValueError(f"labels must have shape {tuple(logits.shape)}, one for each step, got {tuple(labels.shape)}")
    if not labels.is_floating_point():
        raise ValueError(f"labels must be floats from 0 to 1, got {labels.dtype}")
    # Not a product: what a caller has left at padding may be no number.
    labels = torch.where(mask.unsqueeze(-1), labels, labels.new_zeros(()))
    if not (torch.compiler.is_compiling() or labels.is_cuda):
        odd = labels[~((labels >= 0) & (labels <= 1))]
        if odd.numel():
            raise ValueError(f"labels must lie from 0 to 1, got {odd[0].item()}")
    wide = torch.promote_types(logits.dtype, torch.float32)
    losses = F.binary_cross_entropy_with_logits(logits.to(wide), labels.to(wide), reduction="none")
    return losses * mask.unsqueeze(-1)
