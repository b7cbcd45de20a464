"""Optimisers and their schedules, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch.optim.lr_scheduler import LambdaLR

OptimiserName = Literal["adadelta", "adam", "adamw"]

_ADAMS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def build_optimiser(
    name: OptimiserName,
    parameters: Iterable[torch.nn.Parameter],
    *,
    learning_rate: float,
    weight_decay: float = 0.0,
    warmup_steps: int = 0,
    total_steps: int | None = None,
    fused: bool = False,
) -> dict[str, Any]:
    """What Lightning's `configure_optimizers` returns.

    Adadelta (rho 0.9, constant rate) is the course starter's. Adam and AdamW (default betas) warm up linearly over
    `warmup_steps` and, when `total_steps` is given, decay linearly to zero. Adam adds weight decay to the gradient.
    `fused`: they pass over each tensor once instead of a dozen times.

    Raises:
        ValueError: unknown name, a rate that is not positive, or a schedule for Adadelta.
    """
    if learning_rate <= 0:
        raise ValueError(f"learning_rate must be positive, got {learning_rate}")
    trainable = [parameter for parameter in parameters if parameter.requires_grad]
    if name == "adadelta":
        if warmup_steps or total_steps is not None:
            raise ValueError("adadelta keeps its rate; warm-up and decay belong to adam and adamw")
        return {"optimizer": torch.optim.Adadelta(trainable, lr=learning_rate, rho=0.9, weight_decay=weight_decay)}
    if name not in _ADAMS:
        raise ValueError(f"unknown optimiser {name!r}; known: adadelta, {', '.join(_ADAMS)}")
    optimiser = _ADAMS[name](trainable, lr=learning_rate, weight_decay=weight_decay, fused=fused or None)

    def factor(step: int) -> float:
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        if total_steps is None:
            return 1.0
        return max(0.0, (total_steps - step) / max(1, total_steps - warmup_steps))

    schedule = {"scheduler": LambdaLR(optimiser, factor), "interval": "step"}
    return {"optimizer": optimiser, "lr_scheduler": schedule}
