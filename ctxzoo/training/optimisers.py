"""Optimisers and their schedules, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

OptimiserName = Literal["adadelta", "adam", "adamw", "sgd"]

MOMENTUM = 0.9  # of SGD, where nothing else is asked for
_SCHEDULED: dict[str, Any] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}


def build_optimiser(
    name: OptimiserName,
    parameters: Iterable[torch.nn.Parameter | dict[str, Any]],
    *,
    learning_rate: float,
    weight_decay: float = 0.0,
    momentum: float | None = None,
    warmup_steps: int = 0,
    total_steps: int | None = None,
    halve_after: int = 0,
    monitor: str = "",
    lower_is_better: bool = False,
    fused: bool = False,
) -> dict[str, Any]:
    """What Lightning's `configure_optimizers` returns.

    Adadelta (rho 0.9, constant rate) is the course starter's. Adam and AdamW (default betas) and SGD (with `momentum`,
    0.9 where that is None) warm up linearly over `warmup_steps` and, when `total_steps` is given, decay linearly to
    zero; or, with `halve_after`, their rate is halved each time that so many epochs in a row bring no better score
    `monitor`, by default a higher one. All but AdamW add weight decay to the gradient. `fused`: they pass over each
    tensor once instead of a dozen times. A dict among the parameters is a group of torch's, with its own `lr`.

    Raises:
        ValueError: unknown name, a rate that is not positive, a momentum out of range or for another than SGD, a
            schedule for Adadelta, or two schedules.
    """
    if learning_rate <= 0:
        raise ValueError(f"learning_rate must be positive, got {learning_rate}")
    if momentum is not None and name != "sgd":
        raise ValueError(f"momentum={momentum} belongs to sgd; {name} has none that can be chosen")
    if momentum is not None and not 0 <= momentum < 1:
        raise ValueError(f"momentum must be at least 0 and below 1, got {momentum}")
    trainable: Any = [one for one in parameters if isinstance(one, dict) or one.requires_grad]
    if name == "adadelta":
        if warmup_steps or total_steps is not None or halve_after:
            raise ValueError(f"adadelta keeps its rate; schedules belong to {', '.join(_SCHEDULED)}")
        return {"optimizer": torch.optim.Adadelta(trainable, lr=learning_rate, rho=0.9, weight_decay=weight_decay)}
    if name not in _SCHEDULED:
        raise ValueError(f"unknown optimiser {name!r}; known: adadelta, {', '.join(_SCHEDULED)}")
    own = {"momentum": MOMENTUM if momentum is None else momentum} if name == "sgd" else {}
    optimiser = _SCHEDULED[name](trainable, lr=learning_rate, weight_decay=weight_decay, fused=fused or None, **own)
    if halve_after:
        if warmup_steps or total_steps is not None:
            raise ValueError(
                f"halve_after={halve_after} beside warmup_steps={warmup_steps}, total_steps={total_steps}: choose one "
                "schedule"
            )
        # torch's patience is the number of such epochs that it lets pass.
        mode: Literal["min", "max"] = "min" if lower_is_better else "max"
        plateau = ReduceLROnPlateau(optimiser, mode=mode, factor=0.5, patience=halve_after - 1, threshold=0.0)
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": plateau, "monitor": monitor}}

    def factor(step: int) -> float:
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        if total_steps is None:
            return 1.0
        return max(0.0, (total_steps - step) / max(1, total_steps - warmup_steps))

    schedule = {"scheduler": LambdaLR(optimiser, factor), "interval": "step"}
    return {"optimizer": optimiser, "lr_scheduler": schedule}
