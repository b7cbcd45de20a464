"""The loss of a classifier of texts."""

import torch
from torch.nn import functional as F


def classification_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy in nats, mean over the batch.

    Args:
        logits: (B, L).
        labels: (B,) classes, 0 to L - 1.

    Raises:
        ValueError: labels of another shape, or outside the classes (read on the CPU only: on a device it would wait for
            the queue).
    """
    batch, classes = logits.shape
    if labels.shape != (batch,):
        raise ValueError(f"labels must have shape ({batch},), one for each document, got {tuple(labels.shape)}")
    if not (torch.compiler.is_compiling() or labels.is_cuda) and (labels.min() < 0 or labels.max() >= classes):
        raise ValueError(f"labels must lie in 0..{classes - 1}, got {labels.tolist()}")
    return F.cross_entropy(logits, labels)
