"""Scores of what comes next, over every prediction of a split."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional as F
from torchmetrics import MeanMetric

from ctxzoo.metrics import MeanReciprocalRankAtK, RecallAtK
from ctxzoo.metrics.next_item import Ties
from ctxzoo.training.task import Scores


class NextItemScores(Scores):
    """Recall@k and MRR@k in percent, and nats of a prediction, over all predictions of a split.

    `recall_at_20` and `mrr_at_20`: see `ctxzoo.metrics.RecallAtK` and `MeanReciprocalRankAtK`. `nll`: the negative
    log-likelihood of the item that came. Each prediction counts alike, however long its sequence.

    Args:
        recalls, reciprocal_ranks: lengths k of the lists that are scored.
        ties: where items stand that have the score of the right one, see `ctxzoo.metrics.target_ranks`.

    Raises:
        ValueError: a length below 1, or another name of `ties`.
    """

    def __init__(self, recalls: Sequence[int], reciprocal_ranks: Sequence[int], ties: Ties = "pessimistic") -> None:
        super().__init__()
        for k in recalls:
            self.add_module(f"recall_at_{k}", RecallAtK(k, ties=ties))
        for k in reciprocal_ranks:
            self.add_module(f"mrr_at_{k}", MeanReciprocalRankAtK(k, ties=ties))
        # Other strategies leave predictions with NaN out of the mean.
        self.nll = MeanMetric(nan_strategy="disable")

    def update(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Add predictions: logits (n, N) of all items and the items that came (n,)."""
        self.nll.update(F.cross_entropy(logits, labels, reduction="none"))
        for name, metric in self.named_children():
            if name != "nll":
                metric.update(logits, labels)  # type: ignore[operator]

    def compute(self) -> dict[str, float]:
        """Name to value over all that was added."""
        values = {name: float(metric.compute()) for name, metric in self.named_children()}  # type: ignore[operator]
        return {name: value if name == "nll" else 100 * value for name, value in values.items()}
