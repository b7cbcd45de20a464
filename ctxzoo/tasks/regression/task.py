"""Regression for Lightning: the rows of a dataset are one sequence, and a step predicts the target of its row."""

from __future__ import annotations

import torch
from torchmetrics import MeanAbsoluteError, MeanSquaredError, R2Score, SumMetric

from ctxzoo.training.optimizers import OptimizerArgs
from ctxzoo.training.task import AutoHead, Scores, ZooTask, model_inputs


class RegressionScores(Scores):
    """`rmse` and `mae` in the unit of the target, and `r2`, over the rows of a split."""

    def __init__(self) -> None:
        super().__init__()
        self.rmse = MeanSquaredError(squared=False)
        self.mae = MeanAbsoluteError()
        self.r2 = R2Score()
        self.rows = SumMetric()  # of all processes, which must agree whether there is an R2

    def update(self, predicted: torch.Tensor, targets: torch.Tensor) -> None:
        """Add predictions and targets, (n,) each, in the unit of the target."""
        for metric in (self.rmse, self.mae, self.r2):
            metric.update(predicted, targets)
        self.rows.update(len(targets))

    def compute(self) -> dict[str, float]:
        """Name to value over all that was added; without R2 for a single row, of which there is none."""
        values = {"rmse": float(self.rmse.compute()), "mae": float(self.mae.compute())}
        if self.rows.compute() > 1:
            values["r2"] = float(self.r2.compute())
        return values


class RegressionTask(ZooTask):
    """Trains and scores a regression.

    A batch holds what `RegressionDataModule` gives: all rows, and the targets of one split. The objective is the mean
    squared error of the scaled target over the rows that have one; scores are in its unit.

    Args:
        model_config, pretrained, model, optimizer_args: see `ZooTask`.

    Raises:
        ValueError: see `ZooTask`.
        NonFiniteLossError: see `ZooTask`.
    """

    auto_class = AutoHead("regression")
    monitor = "validation/rmse"
    lower_is_better = ZooTask.lower_is_better | {"rmse", "mae"}
    default_optimizer = OptimizerArgs(learning_rate=1e-2)

    def new_scores(self) -> RegressionScores:
        return RegressionScores()

    def training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss: torch.Tensor = self.model(**model_inputs(batch)).loss
        return loss

    def name_examples(self, rows: list[int]) -> str:
        return "all rows of the training split, which are one sequence"

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        """Return rows of the sequence that have a target, what is predicted for them, and their targets, (n,) each.

        Predictions and targets are in the target's unit.
        """
        predicted, targets = self._predictions(batch)
        rows = (~batch["labels"].isnan()).flatten().nonzero().squeeze(1)
        return {"row": rows, "predicted": predicted, "targets": targets}

    def update_scores(self, scores: RegressionScores, batch: dict[str, torch.Tensor], split: str) -> None:
        scores.update(*self._predictions(batch))

    def compute_scores(self, scores: RegressionScores) -> dict[str, float]:
        return scores.compute()

    def _predictions(self, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return predictions and targets of the rows that have one, in the unit of the target."""
        inputs = {name: value for name, value in model_inputs(batch).items() if name != "labels"}
        rows = (~batch["labels"].isnan()).any(dim=2).any(dim=0).nonzero().squeeze(1)
        labels = batch["labels"].index_select(1, rows)
        known = ~labels.isnan()
        scaled = self.model(**inputs, logits_to_keep=rows).logits.float()[known], labels[known]
        predicted, targets = (self.model.scaling.target(values) for values in scaled)
        return predicted, targets
