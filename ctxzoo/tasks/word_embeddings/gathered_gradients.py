"""The sum of the gradients of several processes, of which tables of words have rows alone."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.distributed as dist


def sum_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Make the gradient of each parameter the sum of those of all processes, the same to the bit in each of them.

    Sparse gradients are sent as the rows that are there, which every backend can do; dense ones of a large table would
    be a thousand times as long, and NCCL cannot add sparse ones. A single process changes nothing.

    Args:
        parameters: in the same order everywhere; all have gradients.
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
        indices = _all_rows(gradient.indices().T.contiguous()).T
        values = _all_rows(gradient.values())
        parameter.grad = torch.sparse_coo_tensor(indices, values, gradient.shape, check_invariants=False)


def _all_rows(rows: torch.Tensor) -> torch.Tensor:
    """Return the rows (n, ...) of each process, one after the other; n may differ."""
    number = torch.tensor(len(rows), device=rows.device)
    numbers = [torch.zeros_like(number) for _ in range(dist.get_world_size())]
    dist.all_gather(numbers, number)
    lengths = [int(one) for one in numbers]
    # Collectives need the same shape from all.
    padded = rows.new_zeros(max(lengths), *rows.shape[1:])
    padded[: len(rows)] = rows
    gathered = [torch.empty_like(padded) for _ in lengths]
    dist.all_gather(gathered, padded)
    return torch.cat([one[:length] for one, length in zip(gathered, lengths, strict=True)])
