"""Next event for Lightning: which event comes next, behind every event of every history at once."""

from __future__ import annotations

from typing import Any

import torch

from ctxzoo.metrics.next_item import Ties
from ctxzoo.models.ops_losses import IGNORED
from ctxzoo.training.next_item_scores import NextItemScores, ranks_of_rows
from ctxzoo.training.optimisers import OptimiserName
from ctxzoo.training.task import AutoHead, ZooTask, model_inputs

RECALLS, RECIPROCAL_RANKS = (1, 5, 20), (20,)


class EventScores(NextItemScores):
    """Recall@1, 5 and 20 and MRR@20 in percent, and nats of a prediction, over all predictions of a split.

    Recall@1 is the accuracy. Where there are 20 kinds of events or fewer, recall@20 is 100, and MRR@20 is the MRR.

    Args:
        ties: where events stand that have the score of the right one, see `ctxzoo.metrics.target_ranks`.
    """

    def __init__(self, ties: Ties = "pessimistic") -> None:
        super().__init__(RECALLS, RECIPROCAL_RANKS, ties)


class NextEventTask(ZooTask):
    """Trains and scores a model that predicts the next event of a history.

    A batch holds what `history_inputs` gives. Every event but the first is predicted from those before it, all of them
    in one pass; the objective is the mean over the predictions of a batch.

    Args:
        model_config, pretrained, optimiser, learning_rate, weight_decay, momentum, warmup_steps, decay_steps,
            halve_after: see `ZooTask`.
        ties: see `EventScores`.

    Raises:
        ValueError: see `ZooTask`; another name of `ties`.
        NonFiniteLossError: see `ZooTask`; names the rows of the batch.
    """

    auto_class = AutoHead("next-event")
    monitor = "validation/recall_at_1"

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

    def new_scores(self) -> EventScores:
        return EventScores(self.hparams["ties"])

    def training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss: torch.Tensor = self.model(**model_inputs(batch)).loss
        return loss

    def name_examples(self, rows: list[int]) -> str:
        return f"histories of the batch in the training split: {rows}"

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        """Return the ranks of the targets of each history, see `ranks_of_rows`."""
        return ranks_of_rows(batch, *self._predictions(batch), self.hparams["ties"])

    def update_scores(self, scores: EventScores, batch: dict[str, torch.Tensor], split: str) -> None:
        logits, labels = self._predictions(batch)
        scores.update(logits[labels != IGNORED], labels[labels != IGNORED])

    def compute_scores(self, scores: EventScores) -> dict[str, float]:
        return scores.compute()

    def _predictions(self, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the scores (B, T - 1, N) of the event behind each, in float32 also under mixed precision; and it."""
        inputs = {name: value for name, value in model_inputs(batch).items() if name != "labels"}
        return self.model(**inputs).logits[:, :-1].float(), batch["labels"][:, 1:]
