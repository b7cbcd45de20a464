"""Scores of a classifier over a whole split."""

from __future__ import annotations

import torch
from torch.nn import functional as F
from torchmetrics import MeanMetric, MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassCalibrationError, MulticlassF1Score

from ctxzoo.training.task import Scores

CALIBRATION_BINS = 15


class ClassificationScores(Scores):
    """Accuracy, macro F1, calibration error and negative log-likelihood of whatever is classified.

    `accuracy`, `macro_f1` (mean over the classes that are anyone's label or prediction) and `calibration_error`
    (expected calibration error: mean distance between the probability of the predicted class and how often it is
    right, in 15 bins of that probability) in percent; `nll` in nats.

    Args:
        num_labels: L.
    """

    def __init__(self, num_labels: int) -> None:
        super().__init__()
        # Other strategies leave rows with NaN out of the mean. This one knows no weights, so it gets every row's loss.
        self.nll = MeanMetric(nan_strategy="disable")
        self.fractions = MetricCollection(
            {
                "accuracy": MulticlassAccuracy(num_labels, average="micro"),
                "macro_f1": MulticlassF1Score(num_labels, average="macro"),
                "calibration_error": MulticlassCalibrationError(num_labels, n_bins=CALIBRATION_BINS, norm="l1"),
            }
        )

    def update(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Add logits (N, L) of what has the labels (N,)."""
        self.nll.update(F.cross_entropy(logits, labels, reduction="none"))
        self.fractions.update(logits.softmax(dim=1), labels)

    def compute(self) -> dict[str, float]:
        """Name to value over all that was added."""
        percentages = {name: 100.0 * float(value) for name, value in self.fractions.compute().items()}
        return {**percentages, "nll": float(self.nll.compute())}
