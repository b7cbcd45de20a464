"""Scores of a regression on a split, and the error of each of its rows."""

from __future__ import annotations

from pathlib import Path

from transformers import PreTrainedModel

from ctxzoo.tasks.regression.data import RegressionDataModule, Scaling
from ctxzoo.tasks.regression.task import RegressionTask
from ctxzoo.training.scoring import score_splits, task_of


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
    """Score a regression on a split; of a checkpoint the same numbers that its recipe wrote.

    All rows of the dataset are read as one sequence, as in training; give the splits that it had then.

    Args:
        checkpoint: folder or Hub id, or a model.
        dataset: Hub id, folder, file, or "sample" for generated rows.
        split: name of a split, as the DataModule has it.
        tokenizer: none; numbers are no text.
        data_dir, config_name, group_column, split_number: of `RegressionDataModule`.
        target_column: what is scored against; default: the column that the model was trained to predict.
        batch_size: there is one sequence.
        precision, accelerator: how to run.
        progress: show a progress bar.

    Returns:
        `rmse` and `mae` in the unit of the target, and `r2`.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: no such split; a checkpoint of another problem, or of other features.
    """
    task = task_of(RegressionTask, checkpoint)
    config = task.model.config
    data = RegressionDataModule(
        dataset,
        data_dir=data_dir,
        config_name=config_name,
        target_column=target_column or config.target_name,
        feature_columns=config.feature_names,
        group_column=group_column,
        split_number=split_number,
        scaling=Scaling(*task.model.scaling.values.tolist()),
        divide=False,
    )
    data.setup()
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]
