"""The loss of a classifier of texts, and its start as a linear one."""

import torch
from torch import nn
from torch.nn import functional as F

from .ops_integers import as_integers


def classification_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy in nats, mean over the batch.

    Args:
        logits: (B, L).
        labels: (B,) classes, 0 to L - 1.

    Raises:
        ValueError: labels of another shape or type, or outside the classes (read on the CPU only: on a device it would
            wait for the queue).
    """
    batch, classes = logits.shape
    labels = as_integers("labels", labels)
    if labels.shape != (batch,):
        raise ValueError(f"labels must have shape ({batch},), one for each document, got {tuple(labels.shape)}")
    if not (torch.compiler.is_compiling() or labels.is_cuda) and (labels.min() < 0 or labels.max() >= classes):
        raise ValueError(f"labels must lie in 0..{classes - 1}, got {labels.tolist()}")
    return F.cross_entropy(logits, labels)


@torch.no_grad()
def start_weights(layer: nn.Linear, weights: torch.Tensor) -> None:
    """Make the scores of a linear layer `weights` times the first F of its inputs.

    Args:
        layer: from m numbers to L scores.
        weights: (L, F), F at most m.

    Raises:
        ValueError: another shape.
    """
    labels, width = layer.weight.shape
    if weights.dim() != 2 or weights.size(0) != labels or weights.size(1) > width:
        raise ValueError(
            f"weights of shape {tuple(weights.shape)}: expected ({labels}, F) with F at most {width}, one row for "
            "each class"
        )
    layer.weight.zero_()
    layer.weight[:, : weights.size(1)] = weights
    if layer.bias is not None:
        layer.bias.zero_()
