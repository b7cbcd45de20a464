"""A schedule of learning rates: divide the rate when an epoch is worse than each of the few before it."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau


class DivideOnRise(ReduceLROnPlateau):
    """Divides the rate after each epoch whose score is worse than every one of the `window` epochs before it.

    A subclass of torch's plateau schedule, so that Lightning gives it the score at the end of each epoch.

    Args:
        optimizer: whose rates are divided.
        divisor: by which, more than 1.
        after: epochs at the beginning that never divide it.
        window: epochs to compare with, 1 or more.
        lower_is_better: of the score.

    Raises:
        ValueError: a number out of its range.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        *,
        divisor: float,
        after: int = 0,
        window: int = 3,
        lower_is_better: bool = True,
    ) -> None:
        if not divisor > 1 or after < 0 or window < 1:
            raise ValueError(
                f"divisor={divisor}, after={after}, window={window}: expected more than 1, 0 or more, and 1 or more"
            )
        super().__init__(optimizer, mode="min" if lower_is_better else "max")
        self.divisor = divisor
        self.after = after
        self.window = window
        self.recent: list[float] = []  # scores of the last epochs

    def step(  # type: ignore[override]  # as torch's own plateau schedule
        self, metrics: Any, epoch: int | None = None
    ) -> None:
        """Divide the rate if the score of the epoch that ended asks for it."""
        score = float(metrics)
        self.last_epoch += 1
        is_worse = (
            score > max(self.recent, default=score) if self.mode == "min" else score < min(self.recent, default=score)
        )
        if is_worse and self.last_epoch > self.after:
            for group in self.optimizer.param_groups:
                group["lr"] /= self.divisor
        self.recent = [*self.recent, score][-self.window :]
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]
