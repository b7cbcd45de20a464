"""Optimizers and their schedules: what is asked for, and what Lightning gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal, TypeVar

import torch
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

from ctxzoo.models.old_names import convert_settings
from ctxzoo.training.arguments import COUNT, FRACTION, POSITIVE, SIZE, Args, number_field

OptimizerName = Literal["adadelta", "adam", "adamw", "sgd"]
AnyOptimizer = TypeVar("AnyOptimizer", bound="OptimizerArgs")

MOMENTUM = 0.9  # of SGD, where nothing else is asked for
_SCHEDULED: dict[str, Any] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}


@dataclass(frozen=True, kw_only=True)
class OptimizerArgs(Args):
    """An optimizer and its schedule.

    Adadelta (rho 0.9, constant rate) is the course starter's. Adam and AdamW have torch's betas. All but AdamW add
    weight decay to the gradient.

    Attributes:
        optimizer: Name of the optimizer: adadelta, adam, adamw or sgd.
        learning_rate: Peak learning rate of the optimizer, above 0.
        weight_decay: Weight decay of the optimizer, 0 or more.
        momentum: Momentum of SGD; None: 0.9. Other optimizers take none.
        warmup_steps: Number of steps over which the learning rate rises linearly from 0.
        decay_steps: Number of steps after which the linearly falling learning rate is 0; None: it stays constant after
            the warm-up.
        halve_after: Consecutive epochs without a better validation score after which the learning rate is halved; 0:
            never.

    Raises:
        ValueError: see `Args`; a momentum for another than SGD, a schedule for Adadelta, or two schedules.
    """

    optimizer: OptimizerName = "adam"
    learning_rate: float = number_field(1e-3, POSITIVE)
    weight_decay: float = number_field(0.0, COUNT)
    momentum: float | None = number_field(None, FRACTION)
    warmup_steps: int = number_field(0, COUNT)
    decay_steps: int | None = number_field(None, SIZE)
    halve_after: int = number_field(0, COUNT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.momentum is not None and self.optimizer != "sgd":
            raise ValueError(f"momentum={self.momentum} belongs to sgd; {self.optimizer} has none that can be chosen")
        if self.optimizer == "adadelta" and self.has_schedule:
            raise ValueError(f"adadelta keeps its rate; schedules belong to {', '.join(_SCHEDULED)}")
        if self.halve_after and (self.warmup_steps or self.decay_steps is not None):
            raise ValueError(
                f"halve_after={self.halve_after} beside warmup_steps={self.warmup_steps}, decay_steps="
                f"{self.decay_steps}: choose one schedule"
            )

    @property
    def has_schedule(self) -> bool:
        """Whether the learning rate changes during a training."""
        return bool(self.warmup_steps or self.decay_steps is not None or self.halve_after)

    def copy_with(self: AnyOptimizer, changes: Mapping[str, Any]) -> AnyOptimizer:
        """Return a copy with some values changed; a change of optimizer drops the momentum.

        Names of earlier versions are taken too.

        Raises:
            TypeError: there is no such argument.
            ValueError: see the class.
        """
        known_names = [one.name for one in fields(self)]
        current_changes = convert_settings(changes)
        unknown = [name for name in current_changes if name not in known_names]
        if unknown:
            raise TypeError(f"unexpected argument {unknown[0]!r}; of the optimizer there are {', '.join(known_names)}")
        if current_changes.get("optimizer", "sgd") != "sgd":
            current_changes = {"momentum": None, **current_changes}
        return super().copy_with(current_changes)


def build_optimizer(
    args: OptimizerArgs,
    parameters: Iterable[torch.nn.Parameter | dict[str, Any]],
    *,
    monitor: str = "",
    lower_is_better: bool = False,
    fused: bool = False,
) -> dict[str, Any]:
    """Build an optimizer and its schedule, in the form that Lightning's `configure_optimizers` returns.

    Args:
        args: Settings of the optimizer and of its learning rate schedule.
        parameters: Parameters to train (those that need no gradient are skipped), or parameter groups as dicts with
            their own `lr` and `warmup_steps`.
        monitor: Name of the logged validation score that `halve_after` watches.
        lower_is_better: Whether a lower score is better.
        fused: Whether torch's fused implementation is used, which updates each tensor in a single pass.
    """
    trainable: Any = [one for one in parameters if isinstance(one, dict) or one.requires_grad]
    rate: dict[str, Any] = {"lr": args.learning_rate, "weight_decay": args.weight_decay}
    if args.optimizer == "adadelta":
        return {"optimizer": torch.optim.Adadelta(trainable, rho=0.9, **rate)}
    own = {"momentum": MOMENTUM if args.momentum is None else args.momentum} if args.optimizer == "sgd" else {}
    optimizer = _SCHEDULED[args.optimizer](trainable, fused=fused or None, **rate, **own)
    if args.halve_after:
        # torch's patience is the number of such epochs that it lets pass.
        mode: Literal["min", "max"] = "min" if lower_is_better else "max"
        plateau = ReduceLROnPlateau(optimizer, mode=mode, factor=0.5, patience=args.halve_after - 1, threshold=0.0)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": plateau, "monitor": monitor}}
    total = args.decay_steps

    def compute_lr_factor(warmup: int, step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return 1.0 if total is None else max(0.0, (total - step) / max(1, total - warmup))

    factors: list[Callable[[int], float]] = [
        partial(compute_lr_factor, one.get("warmup_steps", args.warmup_steps)) for one in optimizer.param_groups
    ]
    schedule = {"scheduler": LambdaLR(optimizer, factors), "interval": "step"}
    return {"optimizer": optimizer, "lr_scheduler": schedule}


class DivideOnRise(ReduceLROnPlateau):
    """Divides the rate after each epoch whose score is worse than every one of the `window` epochs before it.

    A subclass of torch's plateau schedule, so that Lightning gives it the score at the end of each epoch.

    Args:
        optimizer: Optimizer whose learning rates are divided.
        divisor: Number by which the learning rates are divided, more than 1.
        after: Number of first epochs in which nothing is divided.
        window: Number of preceding epochs that must all have been better, 1 or more.
        lower_is_better: Whether a lower score is better.

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
        """Divide the learning rate if the epoch's score is worse than in every one of the `window` epochs before."""
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
