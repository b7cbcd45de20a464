"""Session recommendation for Lightning: which item comes next, behind every step of every session at once."""

from __future__ import annotations

from typing import Any

import torch

from ctxzoo.metrics.next_item import Ties
from ctxzoo.models.ops_losses import IGNORED
from ctxzoo.training.next_item_scores import NextItemScores, ranks_of_rows
from ctxzoo.training.optimisers import OptimiserName
from ctxzoo.training.task import AutoHead, ZooTask, model_inputs

TOP_K = (10, 20)  # lengths of the lists of recommendations that are scored


class SessionScores(NextItemScores):
    """Recall@k and MRR@k in percent, k = 10 and 20, and nats of a prediction, over all predictions of a split.

    Args:
        ties: where items stand that have the score of the right one, see `ctxzoo.metrics.target_ranks`.
    """

    def __init__(self, ties: Ties = "pessimistic") -> None:
        super().__init__(TOP_K, TOP_K, ties)


class SessionRecommendationTask(ZooTask):
    """Trains and scores a model that predicts the next item of a session.

    A batch holds what `session_inputs` gives. Every step of every session is a prediction, all of them in one pass. The
    objective is the sum over a session, the mean over the sessions of a batch: sessions of one batch are about as long,
    and a mean over predictions would weigh those of short sessions more. Behind each step of the optimiser the model
    puts parameters back into their range.

    Args:
        model_config, pretrained, optimiser, learning_rate, weight_decay, momentum, warmup_steps, decay_steps,
            halve_after: see `ZooTask`.
        ties: see `SessionScores`.

    Raises:
        ValueError: see `ZooTask`; another name of `ties`.
        NonFiniteLossError: see `ZooTask`; names the rows of the batch.
    """

    auto_class = AutoHead("session-recommendation")
    monitor = "validation/recall_at_20"

    def __init__(
        self,
        model_config: dict[str, Any] | None = None,
        pretrained: str | None = None,
        *,
        optimiser: OptimiserName = "adam",
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        momentum: float | None = None,
        warmup_steps: int = 0,
        decay_steps: int | None = None,
        halve_after: int = 0,
        ties: Ties = "pessimistic",
    ) -> None:
        super().__init__(
            model_config,
            pretrained,
            optimiser=optimiser,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            momentum=momentum,
            warmup_steps=warmup_steps,
            decay_steps=decay_steps,
            halve_after=halve_after,
        )

    def new_scores(self) -> SessionScores:
        return SessionScores(self.hparams["ties"])

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        super().optimizer_step(*args, **kwargs)
        self.model.project_parameters()

    def training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss: torch.Tensor = self.model(**model_inputs(batch), every_position=True).loss
        return loss * (batch["labels"] != IGNORED).sum() / len(batch["labels"])

    def name_examples(self, rows: list[int]) -> str:
        return f"sessions of the batch in the training split: {rows}"

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        """Return the ranks of the targets of each session, see `ranks_of_rows`."""
        return ranks_of_rows(batch, self._logits(batch), batch["labels"], self.hparams["ties"])

    def update_scores(self, scores: SessionScores, batch: dict[str, torch.Tensor], split: str) -> None:
        labels, counts = batch["labels"], batch["labels"] != IGNORED
        scores.update(self._logits(batch)[counts], labels[counts])

    def compute_scores(self, scores: SessionScores) -> dict[str, float]:
        return scores.compute()

    def _logits(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return (B, T, N) of the item behind each step, in float32 also under mixed precision."""
        inputs = {name: value for name, value in model_inputs(batch).items() if name != "labels"}
        logits: torch.Tensor = self.model(**inputs, every_position=True).logits
        return logits.float()
