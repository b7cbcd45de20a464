"""Rows of a table, with a gradient that holds the rows that were read and no others, on request."""

from typing import Any

import torch


def table_rows(table: torch.Tensor, *indices: torch.Tensor, sparse: bool = False) -> torch.Tensor:
    """`table[indices]`; the gradient of `table` is a sparse COO tensor with `sparse`.

    torch's own look-up has sparse gradients for rows of a matrix alone; here a row may be given by several indices.

    Args:
        table: (N_1, ..., N_k, ...).
        indices: k tensors of integers whose shapes fit each other.
        sparse: optimisers then touch the rows that were read only; they must know sparse gradients, as SGD without
            momentum, Adagrad and SparseAdam do.

    Returns:
        The shape of the indices, and behind it what a row of the table has.
    """
    if not sparse:
        return table[indices]
    rows: torch.Tensor = _SparseRows.apply(table, *torch.broadcast_tensors(*indices))  # type: ignore[no-untyped-call]
    return rows


class _SparseRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: torch.Tensor, *indices: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(*indices)
        ctx.shape = table.shape
        return table[indices]

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        indices = torch.stack([index.flatten() for index in ctx.saved_tensors])
        values = gradients[0].reshape(indices.size(1), *ctx.shape[len(indices) :])
        # The indices come from a look-up that has worked.
        gradient = torch.sparse_coo_tensor(indices, values, ctx.shape, check_invariants=False)
        return gradient, *[None] * len(indices)
