"""The losses of classifiers of texts and of words."""

import torch
from torch.nn import functional as F

from .ops_integers import as_integers

IGNORED = -100  # label of a word that does not count, as everywhere in transformers


def classification_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy in nats, the mean over the batch.

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


def token_classification_loss(
    logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the cross-entropy in nats, the mean over the words of a batch that count; 0 where none does.

    Args:
        logits: (B, n, L).
        labels: (B, n) classes, 0 to L - 1, or `IGNORED`.
        mask: (B, n), 0 at padding, which does not count whatever its labels are; None: no padding.

    Raises:
        ValueError: labels of another shape or type, or other numbers (read on the CPU only: on a device it would wait
            for the queue).
    """
    classes = logits.size(2)
    labels = as_integers("labels", labels)
    if labels.shape != logits.shape[:2]:
        raise ValueError(
            f"labels must have shape {tuple(logits.shape[:2])}, one for each word, got {tuple(labels.shape)}"
        )
    if mask is not None:
        labels = labels.masked_fill(mask == 0, IGNORED)
    counts = labels != IGNORED
    if not (torch.compiler.is_compiling() or labels.is_cuda):
        odd = labels[counts & ((labels < 0) | (labels >= classes))]
        if odd.numel():
            raise ValueError(f"labels must lie in 0..{classes - 1}, or be {IGNORED}; got {odd[0].item()}")
    wide = logits.flatten(0, 1).to(torch.promote_types(logits.dtype, torch.float32))  # the sum of many overflows halves
    summed = F.cross_entropy(wide, labels.flatten(), ignore_index=IGNORED, reduction="sum")
    return summed / counts.sum().clamp(min=1)
