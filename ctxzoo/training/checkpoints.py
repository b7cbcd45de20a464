"""Checkpoints to resume from, of which the latest is always whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint under a temporary name and gives it its own when it is on disk.

    Lightning writes to the system's temporary folder and moves the file, which copies it where the two are different
    file systems: killed then, it leaves half a file instead of the earlier checkpoint.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.part")
        try:
            with part.open("wb") as file:
                torch.save(checkpoint, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


class ResumeCheckpoint(ModelCheckpoint):
    """Writes the state of the training to one file every `every` steps and at the end of each epoch.

    At the last batch of an epoch nothing is written before the epoch's end: Lightning takes a checkpoint of that
    moment for a finished epoch and would not make up for its validation. When `max_steps` ends the training in the
    middle of an epoch, that step is written and not the end of the epoch: a longer run then reads the epoch's rest.

    Args:
        path: the file.
        every: steps.
    """

    def __init__(self, path: Path, every: int) -> None:
        super().__init__(
            dirpath=path.parent,
            filename=path.stem,
            every_n_epochs=1,
            save_on_train_epoch_end=True,
            enable_version_counter=False,
        )
        self.path = path
        self.every = every

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        due = trainer.global_step % self.every == 0 or trainer.global_step == trainer.max_steps
        if due and not trainer.is_last_batch:
            trainer.save_checkpoint(self.path)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.is_last_batch:
            trainer.save_checkpoint(self.path)
