"""Gradient descent in which no row of a table jumps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

LONGEST_STEP = 0.3


class RowLimitedSGD(torch.optim.Optimizer):
    """Plain SGD; a row that would move further than `longest_step` (Euclidean norm) moves that far.

    The gradient of a batch is a sum over its examples, all computed from the values before it. Rows that a few of them
    use move as they would one example after another; those of frequent words, in hundreds of them, would overshoot
    [ours]. Rows are those that a sparse gradient names, or run along the last dimension; of a vector, each number is
    one.

    Args:
        parameters: parameters, or groups of them.
        lr: learning rate, 0 or more; a group may have its own.
        longest_step: above 0.

    Raises:
        ValueError: a value out of range.
    """

    def __init__(self, parameters: Iterable[Any], lr: float, longest_step: float = LONGEST_STEP) -> None:
        if not lr >= 0:
            raise ValueError(f"lr is {lr}; expected 0 or more")
        if not longest_step > 0:
            raise ValueError(f"longest_step is {longest_step}; expected a positive number")
        super().__init__(parameters, {"lr": lr, "longest_step": longest_step})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:  # type: ignore[override]
        """One step; `closure`, if given, computes the gradients and returns the loss."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None or not group["lr"]:
                    continue
                if gradient.is_sparse:
                    gradient = gradient.coalesce()
                    step = _limited(gradient.values() * -group["lr"], group["longest_step"])
                    parameter.add_(
                        torch.sparse_coo_tensor(gradient.indices(), step, gradient.shape, is_coalesced=True)
                    )
                else:
                    parameter.add_(_limited(gradient * -group["lr"], group["longest_step"]))
        return loss


def _limited(steps: torch.Tensor, longest: float) -> torch.Tensor:
    lengths = steps.norm(dim=-1, keepdim=True) if steps.dim() > 1 else steps.abs()
    return steps * (longest / lengths.clamp(min=longest))
