"""Distinct rows of an integer matrix, by hashing."""

import torch


def unique_rows(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Distinct rows (U, L) and, for each of the N rows, the number of its equal among them (N,).

    Rows are told apart by a 64-bit hash, much faster than by sorting whole rows; should two different rows share a
    hash,
    the rows are returned as they are.

    Args:
        rows: (N, L) integers.
    """
    # One random 64-bit multiplier a column; int64 products wrap around, which is what a hash wants.
    generator = torch.Generator().manual_seed(0)
    multipliers = torch.randint(-(2**63), 2**63 - 1, (rows.size(1),), generator=generator).to(rows.device)
    keys = ((rows + 1) * multipliers).sum(dim=1)
    values, inverse = torch.unique(keys, return_inverse=True)
    example = torch.empty_like(values).scatter_(0, inverse, torch.arange(len(rows), device=rows.device))
    distinct = rows[example]
    if not torch.equal(distinct[inverse], rows):
        return rows, torch.arange(len(rows), device=rows.device)
    return distinct, inverse


def reference_unique_rows(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The same with a dictionary; the order of the distinct rows is that of their first occurrence."""
    numbers: dict[tuple[int, ...], int] = {}
    inverse = [numbers.setdefault(tuple(row), len(numbers)) for row in rows.tolist()]
    return torch.tensor(list(numbers)), torch.tensor(inverse)
