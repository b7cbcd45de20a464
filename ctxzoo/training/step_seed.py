"""Randomness of a training step as a function of its number."""

from __future__ import annotations

from typing import Any

import lightning
import torch


class StepSeed(lightning.Callback):
    """Seeds torch before each training batch from (seed, optimiser step, batch, process).

    Dropout then depends on nothing that happened before, so that a run resumed at any step, after any validation, draws
    the same masks as one that was never interrupted: no generator state has to be saved.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        number = (trainer.global_step * 1_000_003 + batch_idx) * max(1, trainer.world_size) + trainer.global_rank
        torch.manual_seed((self.seed * 0x9E3779B97F4A7C15 + number) % 2**63)
