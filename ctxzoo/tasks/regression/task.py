"""Regression for Lightning: the rows of a dataset are one sequence, and a step predicts the target of its row.

`evaluate` scores a model on a split.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torchmetrics import MeanAbsoluteError, MeanSquaredError, R2Score, SumMetric
from transformers import PreTrainedModel

from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.rows import CHUNK
from ctxzoo.models.ops_kernel_encoder_intervals import find_half_width, select_interval_errors
from ctxzoo.tasks.regression.data import RegressionDataModule, Scaling
from ctxzoo.training.optimizers import OptimizerArgs
from ctxzoo.training.scoring import load_task, score_splits
from ctxzoo.training.task import AutoHead, Scores, ZooTask, select_model_inputs


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
        """Return the scores, by name, over all that was added; without R2 for a single row, of which there is none."""
        values = {"rmse": float(self.rmse.compute()), "mae": float(self.mae.compute())}
        if self.rows.compute() > 1:
            values["r2"] = float(self.r2.compute())
        return values


class RegressionTask(ZooTask):
    """Trains and scores a regression.

    A batch holds what `RegressionDataModule` gives: all rows, and the targets of one split. The objective is the mean
    squared error of the scaled target over the rows that have one; scores are in its unit.

    Args:
        model_config, pretrained, model, optimizer_args: Start of the model (config dict, checkpoint to load, or a ready
            model), and keyword arguments of the optimizer, as in `ZooTask`.

    Raises:
        ValueError: see `ZooTask`.
        NonFiniteLossError: see `ZooTask`.
    """

    auto_class = AutoHead("regression")
    monitor = "validation/rmse"
    lower_is_better = ZooTask.lower_is_better | {"rmse", "mae"}
    default_optimizer = OptimizerArgs(learning_rate=1e-2)

    def build_scores(self) -> RegressionScores:
        """Return empty scores of regression."""
        return RegressionScores()

    def compute_training_loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the model's loss on a batch."""
        loss: torch.Tensor = self.model(**select_model_inputs(batch)).loss
        return loss

    def describe_examples(self, rows: list[int]) -> str:
        """Describe rows of a batch for an error message."""
        return "all rows of the training split, which are one sequence"

    def predict_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        """Return rows of the sequence that have a target, what is predicted for them, and their targets, (n,) each.

        Predictions and targets are in the target's unit.
        """
        predicted, targets = self._get_predictions_and_targets(batch)
        rows = (~batch["labels"].isnan()).flatten().nonzero().squeeze(1)
        return {"row": rows, "predicted": predicted, "targets": targets}

    def update_scores(self, scores: RegressionScores, batch: dict[str, torch.Tensor], split: str) -> None:
        """Add the predictions and targets of a batch to the scores."""
        scores.update(*self._get_predictions_and_targets(batch))

    def compute_scores(self, scores: RegressionScores) -> dict[str, float]:
        """Return the errors by name."""
        return scores.compute()

    def _get_predictions_and_targets(self, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return predictions and targets (n,) of the rows of a batch that have a target, in its unit."""
        inputs = {name: value for name, value in select_model_inputs(batch).items() if name != "labels"}
        rows = (~batch["labels"].isnan()).any(dim=2).any(dim=0).nonzero().squeeze(1)
        labels = batch["labels"].index_select(1, rows)
        known = ~labels.isnan()
        scaled = self.model(**inputs, logits_to_keep=rows).logits.float()[known], labels[known]
        predicted, targets = (self.model.scaling.unscale_target(values) for values in scaled)
        return predicted, targets


LEVEL = 90  # percent of new targets that the intervals of scores are to hold
MOST_ROWS = 5000  # of validation from which intervals are made, and of a split on which they are checked


def keep_interval_errors(model: Any, data: RegressionDataModule) -> None:
    """Put the errors on validation rows into a model's config, from which its intervals follow; without such rows none.

    Validation rows are predicted as `predict` does new ones, behind the training rows that the model keeps. They have
    chosen the best epoch, so that their errors are a little too small where they are few.

    Args:
        model: Trained regression.
        data: DataModule after its `setup`.
    """
    model.config.interval_errors = None
    if "validation" not in data.splits:
        return
    train = {row.tobytes() for row in data.features[data.row_indices("train")]}
    if all(row.tobytes() in train for row in data.features[data.row_indices("validation")]):
        return  # rows that were learned tell nothing of new ones
    predicted, targets = _predict_split(model, data, "validation")
    model.config.interval_errors = select_interval_errors(predicted - targets)


def score_interval(model: Any, data: RegressionDataModule, split: str) -> dict[str, float]:
    """Return how many percent of a split's targets lie within the 90 % interval, and its half width; empty without one.

    Args:
        model: Regression whose config has `interval_errors`, or none.
        data: DataModule after its `setup`.
        split: Name of the split, such as "test"; of validation nothing is told, which made the interval.
    """
    errors = model.config.interval_errors or []
    if split == "validation" or len(errors) < LEVEL / (100 - LEVEL):
        return {}
    half_width = find_half_width(errors, LEVEL)
    predicted, targets = _predict_split(model, data, split)
    covered = 100 * float(((predicted - targets).abs() <= half_width).double().mean())
    return {f"coverage_{LEVEL}": covered, f"half_width_{LEVEL}": half_width}


def _predict_split(model: Any, data: RegressionDataModule, split: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return predictions and targets (n,) float64 of a split's rows, which are read a thousand at a time."""
    rows = data.row_indices(split)
    if len(rows) > MOST_ROWS:
        record_note(f"{data.dataset}, split {split!r}", "rows to which intervals are fitted, of all", MOST_ROWS)
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).round().astype(np.int64)]
    parts = [model.predict(part)[:, 0].cpu() for part in torch.split(torch.from_numpy(data.features[rows]), CHUNK)]
    return torch.cat(parts).double(), torch.from_numpy(data.targets[rows])


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: None = None,
    data_dir: str | None = None,
    config_name: str | None = None,
    target_column: str | None = None,
    group_column: str | None = None,
    split_number: int | None = None,
    batch_size: int = 1,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Return a regression model's scores on a split by name; for a checkpoint those that its training reported.

    All rows of the dataset are read as one sequence, as in training; give the splits that it had then.

    Args:
        checkpoint: Checkpoint to score, a folder or Hub id, or a loaded model.
        dataset: Data to score on: a Hub id, folder or file, or "sample" (generated rows).
        split: Name of the split, such as "test".
        tokenizer: None; accepted for uniformity, since numbers have no tokenizer.
        data_dir, config_name, group_column, split_number: Folder of datasets, configuration, group column, and number
            of the random split, as in `RegressionDataModule`.
        target_column: Name of the column to score against; default: the target column of the model's training.
        batch_size: Number of sequences in a batch, without effect: there is one sequence.
        precision, accelerator: Precision and kind of device, as Lightning's Trainer takes them, such as "32-true" and
            "cpu".
        progress: Whether a progress bar is shown.

    Returns:
        `rmse` and `mae` in the unit of the target, and `r2`; and where the model has intervals those of
        `score_interval`.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: no such split; a checkpoint of another problem, or of other features.
    """
    task = load_task(RegressionTask, checkpoint)
    config = task.model.config
    data = RegressionDataModule(
        dataset,
        data_dir=data_dir,
        config_name=config_name,
        target_column=target_column or config.target_name,
        feature_columns=config.feature_names,
        group_column=group_column,
        split_number=split_number,
        scaling=Scaling(*task.model.scaling.offsets_and_scales.tolist()),
        divide=False,
    )
    data.setup()
    scores = score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]
    return {**scores, **score_interval(task.model, data, split)}
