"""`NextItemTask`: what LightningModules share whose models predict the next thing behind every step of a sequence."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch

from ctxzoo.metrics.next_item import Ties
from ctxzoo.models.ops_words import IGNORED
from ctxzoo.training.next_item_scores import NextItemScores, ranks_of_rows
from ctxzoo.training.task import ZooTask, model_inputs


class NextItemTask(ZooTask):
    """Trains and scores a model that predicts each thing of a sequence from those before it, all of them in one pass.

    Args:
        model_config, pretrained, model, optimizer_args: see `ZooTask`.
        ties: where things stand that have the score of the right one, see `ctxzoo.metrics.target_ranks`.

    Raises:
        ValueError: see `ZooTask`; another name of `ties`.
        NonFiniteLossError: see `ZooTask`; names the rows of the batch.
    """

    def __init__(
        self,
        model_config: dict[str, Any] | None = None,
        pretrained: str | None = None,
        *,
        model: Any = None,
        ties: Ties = "pessimistic",
        **optimizer_args: Any,
    ) -> None:
        super().__init__(model_config, pretrained, model=model, **optimizer_args)

    @abstractmethod
    def new_scores(self) -> NextItemScores: ...

    @abstractmethod
    def logits_and_labels(
        self, inputs: dict[str, torch.Tensor], labels: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the scores of all things (B, T, N) and the things that came (B, T), -100 where nothing is predicted.

        Args:
            inputs: of the model, without labels.
            labels: of the batch.
        """

    def training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss: torch.Tensor = self.model(**model_inputs(batch)).loss
        return loss

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        """Return the ranks of the targets of each sequence, see `ranks_of_rows`."""
        return ranks_of_rows(batch, *self._predictions(batch), self.hparams["ties"])

    def update_scores(self, scores: NextItemScores, batch: dict[str, torch.Tensor], split: str) -> None:
        logits, labels = self._predictions(batch)
        scores.update(logits[labels != IGNORED], labels[labels != IGNORED])

    def compute_scores(self, scores: NextItemScores) -> dict[str, float]:
        return scores.compute()

    def _predictions(self, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        inputs = model_inputs(batch)
        logits, labels = self.logits_and_labels(inputs, inputs.pop("labels"))
        return logits.float(), labels  # also under mixed precision
