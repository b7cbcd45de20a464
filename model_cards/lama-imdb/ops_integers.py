"""Conversion of ids and labels, which callers give as integers of any width."""

import torch


def as_integers(name: str, given: torch.Tensor) -> torch.Tensor:
    """Return `given` as int64, the only integers that every operation of torch takes.

    Raises:
        ValueError: booleans or numbers that may be fractions; `name` is what the message calls them.
    """
    if given.dtype == torch.int64:
        return given
    if given.dtype == torch.bool or given.is_floating_point() or given.is_complex():
        raise ValueError(f"{name} must be integers, got {given.dtype} of shape {tuple(given.shape)}")
    return given.long()
