"""The LightningModule of ratings."""

from __future__ import annotations

import torch
from torchmetrics import MeanSquaredError

from ctxzoo.training.task import AutoHead, Scores, ZooTask, model_inputs


class RatingScores(Scores):
    """`rmse`: root of the mean squared error."""

    def __init__(self) -> None:
        super().__init__()
        self.rmse = MeanSquaredError(squared=False)


class RatingTask(ZooTask):
    """Trains by squared error."""

    auto_class = AutoHead("rating")
    monitor = "validation/rmse"
    lower_is_better = ZooTask.lower_is_better | {"rmse"}

    def new_scores(self) -> RatingScores:
        return RatingScores()

    def training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss: torch.Tensor = self.model(**model_inputs(batch)).loss
        return loss

    def name_examples(self, rows: list[int]) -> str:
        return f"rows {rows}"

    def update_scores(self, scores: RatingScores, batch: dict[str, torch.Tensor], split: str) -> None:
        scores.rmse.update(self.model(batch["users"], batch["items"]).ratings, batch["labels"])

    def compute_scores(self, scores: RatingScores) -> dict[str, float]:
        return {"rmse": float(scores.rmse.compute())}
