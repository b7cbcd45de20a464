"""Classes of texts for Lightning: cross-entropy, accuracy, macro F1, calibration; of texts with a known word, too."""

from __future__ import annotations

import torch
from torchmetrics import MeanMetric
from torchmetrics.classification import MulticlassAccuracy
from transformers import AutoModelForSequenceClassification

from ctxzoo.training.classification import ClassificationScores, ClassificationTask


class TextScores(ClassificationScores):
    """The scores of `ClassificationScores` over all texts; where some have no known word, for a model to read, also:

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


class SequenceClassificationTask(ClassificationTask):
    """Trains and scores any classifier of the zoo with one label for each text.

    A batch holds `labels`, (B,) class numbers; the model gives logits (B, labels). Losses, arguments and errors: see
    `ClassificationTask`. Scores: those of `TextScores`; a text without a known word is one whose `attention_mask` is 0
    throughout.
    """

    auto_class = AutoModelForSequenceClassification

    def new_scores(self) -> TextScores:
        return TextScores(self.model.config.num_labels)

    def update_scores(self, scores: TextScores, batch: dict[str, torch.Tensor], split: str) -> None:  # type: ignore[override]
        # In float32 also under mixed precision.
        scores.update_texts(self._output(batch).logits.float(), batch["labels"], batch["attention_mask"].any(dim=1))

    def classified(self, logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return logits, labels
