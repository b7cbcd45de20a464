"""Session recommendation for Lightning: which item comes next, behind every step of every session at once."""

from __future__ import annotations

from typing import Any

import torch

from ctxzoo.metrics.next_item import Ties
from ctxzoo.models.ops_words import IGNORED
from ctxzoo.training.next_item_scores import NextItemScores
from ctxzoo.training.next_item_task import NextItemTask
from ctxzoo.training.task import AutoHead, model_inputs

TOP_K = (10, 20)  # lengths of the lists of recommendations that are scored


class SessionScores(NextItemScores):
    """Recall@k and MRR@k in percent, k = 10 and 20, and nats of a prediction, over all predictions of a split.

    Args:
        ties: where items stand that have the score of the right one, see `ctxzoo.metrics.target_ranks`.
    """

    def __init__(self, ties: Ties = "pessimistic") -> None:
        super().__init__(TOP_K, TOP_K, ties)


class SessionRecommendationTask(NextItemTask):
    """Trains and scores a model that predicts the next item of a session; arguments and errors as of `NextItemTask`.

    A batch holds what `session_inputs` gives. The objective is the sum over a session, the mean over the sessions of a
    batch: sessions of one batch are about as long, and a mean over predictions would weigh those of short sessions
    more. Behind each step of the optimizer the model puts parameters back into their range.
    """

    auto_class = AutoHead("session-recommendation")
    monitor = "validation/recall_at_20"

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

    def logits_and_labels(
        self, inputs: dict[str, torch.Tensor], labels: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self.model(**inputs, every_position=True).logits, labels
