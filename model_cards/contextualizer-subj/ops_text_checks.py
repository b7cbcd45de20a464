"""Checks of the inputs of a model that reads words, with errors that name a caller's mistake."""

import torch

from .ops_integers import as_integers
from .ops_masking import boolean_mask


def word_ids(input_ids: torch.Tensor, rows: int) -> torch.Tensor:
    """Return `input_ids` as int64, checked: integers (B, n), with B above 0, that lie within a table of `rows` rows.

    Ranges are only read on the CPU: on a device it would wait for the queue.

    Raises:
        ValueError: another shape or type, an empty batch, or an id outside the table.
    """
    input_ids = as_integers("input_ids", input_ids)
    if input_ids.dim() != 2:
        raise ValueError(f"input_ids must have the shape (batch, words), got {tuple(input_ids.shape)}")
    refuse_empty_batch("input_ids", input_ids)
    if torch.compiler.is_compiling() or input_ids.is_cuda or not input_ids.numel():
        return input_ids
    low, high = (int(value) for value in input_ids.aminmax())
    if low < 0 or high >= rows:
        raise ValueError(f"word id {low if low < 0 else high} is outside the table of {rows} rows")
    return input_ids


def refuse_empty_batch(name: str, given: torch.Tensor) -> None:
    """Raise ValueError for a batch without rows; `name` is what the message calls it."""
    if not torch.compiler.is_compiling() and given.size(0) == 0:
        raise ValueError(f"{name} of shape {tuple(given.shape)} is an empty batch: it holds no document")


def word_mask(words: torch.Tensor, attention_mask: torch.Tensor | None) -> torch.Tensor:
    """Return the mask of words (B, n, ...) as booleans (B, n); if it is None, all are True.

    Raises:
        ValueError: another shape, or values other than 0 and 1 (read on the CPU only).
    """
    shape = words.shape[:2]
    if attention_mask is None:
        return torch.ones(shape, dtype=torch.bool, device=words.device)
    if attention_mask.shape != shape:
        raise ValueError(
            f"attention_mask of shape {tuple(attention_mask.shape)} does not fit words of shape {tuple(shape)}"
        )
    return boolean_mask(attention_mask)
