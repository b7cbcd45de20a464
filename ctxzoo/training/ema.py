"""Exponential moving average of the weights, with a ramp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from lightning.pytorch.callbacks import WeightAveraging


def ema_decay(update: int, decay: float) -> float:
    """Return min(decay, (1 + t) / (10 + t)) for update t = 0, 1, …: short memory at first, `decay` later."""
    return min(decay, (1 + update) / (10 + update))


class ExponentialMovingAverage(WeightAveraging):
    """Averages the weights after every optimiser step; validation, test and the saved `state_dict` use the average.

    Lightning's `WeightAveraging` swaps and saves; this class gives it the ramp. The average starts from the weights
    before the first step, as in the course starter.

    Args:
        decay: the final decay (0.999 in the paper).
    """

    def __init__(self, decay: float = 0.999) -> None:
        if not 0 <= decay < 1:
            raise ValueError(f"decay must be in [0, 1), got {decay}")
        self.decay = decay

        def update(
            averages: Sequence[torch.Tensor], currents: Sequence[torch.Tensor], count: torch.Tensor | int
        ) -> None:
            # torch counts the copy below as the first update.
            weight = 1 - ema_decay(int(count) - 1, decay)
            for average, current in zip(averages, currents, strict=True):
                if average.is_floating_point():
                    average.lerp_(current, weight)
                else:
                    average.copy_(current)

        super().__init__(use_buffers=True, multi_avg_fn=update)

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        # Lightning moves the model to the device only later; by default the average would stay on the CPU.
        self._device = trainer.strategy.root_device
        super().setup(trainer, pl_module, stage)
        if self._average_model is not None and int(self._average_model.n_averaged) == 0:
            # With a count of 0 torch would copy the weights after the first step instead of averaging them in.
            self._average_model.n_averaged.fill_(1)
