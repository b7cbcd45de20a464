"""Gradient descent on tables of words, whose gradients have some rows alone: no row jumps, and processes add theirs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist


class RowLimitedSGD(torch.optim.Optimizer):
    """Plain SGD; a row that would move further than `longest_step` (Euclidean norm) moves that far.

    The gradient of a batch is a sum over its examples, all computed from the values before it. Rows that a few of them
    use move as they would one example after another; those of frequent words, in hundreds of them, would overshoot
    [ours]. Rows are those that a sparse gradient names, or run along the last dimension; of a vector, each number is
    one.

    Args:
        parameters: Parameters to optimize, or dicts of parameter groups, as of any torch optimizer.
        lr: Learning rate, 0 or more; each parameter group may have its own.
        longest_step: Largest Euclidean length of the update of a row, above 0; longer updates are scaled down.

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
                    parameter.sub_(_compute_update(parameter.grad, group["lr"], group["longest_step"]))
        return loss


def _compute_update(gradient: torch.Tensor, rate: float, max_norm: float) -> torch.Tensor:
    """Return gradient times rate, sparse as the gradient is, with no row longer than `max_norm`."""
    if not gradient.is_sparse:
        return _clip_row_norms(gradient * rate, max_norm)
    gradient = gradient.coalesce()  # one entry for each row, in the same order on every device
    return torch.sparse_coo_tensor(
        gradient.indices(),
        _clip_row_norms(gradient.values() * rate, max_norm),
        gradient.shape,
        is_coalesced=True,
        check_invariants=False,
    )


def _clip_row_norms(updates: torch.Tensor, max_norm: float) -> torch.Tensor:
    """Return the rows (..., d) scaled down to the norm `max_norm` where they are longer."""
    lengths = updates.norm(dim=-1, keepdim=True) if updates.dim() > 1 else updates.abs()
    return updates * (max_norm / lengths.clamp(min=max_norm))


def all_reduce_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Replace each parameter's gradient by its sum over all processes, equal to the bit in each of them.

    Sparse gradients are sent as the rows that are there, which every backend can do; dense ones of a large table would
    be a thousand times as long, and NCCL cannot add sparse ones. A single process changes nothing.

    Args:
        parameters: Parameters whose gradients are summed, in the same order in every process; all have gradients.
    """
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return
    for parameter in parameters:
        gradient = parameter.grad
        assert gradient is not None
        if not gradient.is_sparse:
            dist.all_reduce(gradient)
            continue
        gradient = gradient.coalesce()
        lengths = _all_gather_lengths(gradient.values())
        indices = _all_gather_rows(gradient.indices().T.contiguous(), lengths).T
        values = _all_gather_rows(gradient.values(), lengths)
        parameter.grad = torch.sparse_coo_tensor(indices, values, gradient.shape, check_invariants=False)


def _all_gather_lengths(rows: torch.Tensor) -> list[int]:
    """Return the number of rows in each process."""
    number = torch.tensor(len(rows), device=rows.device)
    numbers = [torch.zeros_like(number) for _ in range(dist.get_world_size())]
    dist.all_gather(numbers, number)
    return [int(rows_of_process) for rows_of_process in numbers]


def _all_gather_rows(rows: torch.Tensor, lengths: list[int]) -> torch.Tensor:
    """Return the rows (n, ...) of all processes in one tensor, from the number in each."""
    # Collectives need the same shape from all.
    padded = rows.new_zeros(max(lengths), *rows.shape[1:])
    padded[: len(rows)] = rows
    gathered = [torch.empty_like(padded) for _ in lengths]
    dist.all_gather(gathered, padded)
    return torch.cat([rows_of_process[:length] for rows_of_process, length in zip(gathered, lengths, strict=True)])
