"""Scores of a classifier of texts, some of which may have no known word."""

from __future__ import annotations

import torch
from torchmetrics import MeanMetric
from torchmetrics.classification import MulticlassAccuracy

from ctxzoo.training.classification import ClassificationScores


class TextScores(ClassificationScores):
    """Those of `ClassificationScores`, over all texts; and where some have no known word, which a model cannot read:

    `known_accuracy`, over the texts with a known word, and `known_share`, how many of all these are, in percent.

    Args:
        num_labels: L.
    """

    def __init__(self, num_labels: int) -> None:
        super().__init__(num_labels)
        self.known_accuracy = MulticlassAccuracy(num_labels, average="micro")
        self.known_share = MeanMetric()

    def update_texts(self, logits: torch.Tensor, labels: torch.Tensor, known: torch.Tensor) -> None:
        """Add logits (N, L) of texts with the labels (N,); `known`, boolean (N,): those with a known word."""
        self.update(logits, labels)
        self.known_share.update(known.float())
        if known.any():
            self.known_accuracy.update(logits[known], labels[known])

    def compute(self) -> dict[str, float]:
        scores = super().compute()
        share = float(self.known_share.compute())
        if 0 < share < 1:
            scores["known_accuracy"] = 100.0 * float(self.known_accuracy.compute())
            scores["known_share"] = 100.0 * share
        return scores
