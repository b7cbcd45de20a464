"""Scores of a model of ratings on a split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ctxzoo.training.scoring import score_splits, task_of
from tests.support.rating.data import RatingDataModule
from tests.support.rating.task import RatingTask


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
    return score_splits(task_of(RatingTask, checkpoint), data, (split,), progress=progress)[split]
