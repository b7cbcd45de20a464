"""Scores of a task's model over splits, outside a training."""

from __future__ import annotations

from typing import Any, Protocol

import lightning

from ctxzoo.training.library_messages import leave_out_library_messages
from ctxzoo.training.task import ZooTask


class HasSplits(Protocol):
    """A DataModule of the zoo: any of its splits by name, in evaluation order."""

    def split_dataloader(self, split: str) -> Any:
        """Return the batches of a split."""


def score_splits(
    task: ZooTask,
    data: HasSplits,
    splits: tuple[str, ...],
    *,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, dict[str, float]]:
    """Score a task's model over splits of data that is already there, on one device, every row once.

    Args:
        task: holds the model.
        data: a DataModule of the task after `setup`.
        splits: names of splits, as the DataModule has them.
        precision, accelerator: Lightning's.
        progress: show a progress bar.

    Returns:
        Split name to metrics, named as the task logs them, without the split's name in front.
    """
    trainer = build_scorer(data, precision=precision, accelerator=accelerator, progress=progress)
    scores: dict[str, dict[str, float]] = {}
    device = task.model.device
    for split in splits:
        task.test_split = split
        (values,) = trainer.test(task, dataloaders=data.split_dataloader(split), verbose=False)
        scores[split] = {name.removeprefix("test/"): value for name, value in values.items()}
    task.model.to(device)  # Lightning leaves it on the CPU
    return scores


def build_scorer(data: HasSplits, *, precision: str, accelerator: str, progress: bool) -> lightning.Trainer:
    """Return a Lightning trainer that runs over splits of `data` on one device and writes nothing."""
    leave_out_library_messages()
    trainer = lightning.Trainer(
        accelerator=accelerator,
        devices=1,
        precision=precision,  # type: ignore[arg-type, unused-ignore]
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=progress,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    trainer.datamodule = data
    return trainer
