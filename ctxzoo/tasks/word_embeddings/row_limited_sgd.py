"""Gradient descent in which no row of a table jumps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch


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

    def __init__(self, parameters: Iterable[Any], lr: float, longest_step: float) -> None:
        if not lr >= 0:
            raise ValueError(f"lr is {lr}; expected 0 or more")
        if not longest_step > 0:
            raise ValueError(f"longest_step is {longest_step}; expected a positive number")
        super().__init__(parameters, {"lr": lr, "longest_step": longest_step})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Take one step; `closure`, if given, computes the gradients and returns the loss."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and group["lr"]:
                    parameter.sub_(_step_of(parameter.grad, group["lr"], group["longest_step"]))
        return loss


def _step_of(gradient: torch.Tensor, rate: float, longest: float) -> torch.Tensor:
    if not gradient.is_sparse:
        return _limited(gradient * rate, longest)
    gradient = gradient.coalesce()  # one entry for each row, in the same order on every device
    return torch.sparse_coo_tensor(
        gradient.indices(),
        _limited(gradient.values() * rate, longest),
        gradient.shape,
        is_coalesced=True,
        check_invariants=False,
    )


def _limited(steps: torch.Tensor, longest: float) -> torch.Tensor:
    lengths = steps.norm(dim=-1, keepdim=True) if steps.dim() > 1 else steps.abs()
    return steps * (longest / lengths.clamp(min=longest))
