"""The LightningModule of ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torchmetrics import MeanSquaredError
from transformers import PreTrainedModel

from ctxzoo.training.scoring import load_task, score_splits
from ctxzoo.training.task import AutoHead, Scores, ZooTask, select_model_inputs
from tests.support.rating.data import RatingDataModule


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

    def build_scores(self) -> RatingScores:
        return RatingScores()

    def compute_training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss: torch.Tensor = self.model(**select_model_inputs(batch)).loss
        return loss

    def describe_examples(self, rows: list[int]) -> str:
        return f"rows {rows}"

    def update_scores(self, scores: RatingScores, batch: dict[str, torch.Tensor], split: str) -> None:
        scores.rmse.update(self.model(batch["users"], batch["items"]).ratings, batch["labels"])

    def compute_scores(self, scores: RatingScores) -> dict[str, float]:
        return {"rmse": float(scores.rmse.compute())}


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: None = None,
    data_dir: str | None = None,
    batch_size: int | None = None,
    progress: bool = True,
    **data_options: Any,
) -> dict[str, float]:
    """Score a model of ratings on a split; it has no tokenizer."""
    data = RatingDataModule(dataset, data_dir=data_dir, batch_size=batch_size or 16, **data_options)
    data.setup()
    return score_splits(load_task(RatingTask, checkpoint), data, (split,), progress=progress)[split]
