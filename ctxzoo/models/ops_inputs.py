"""Checks and conversions of the inputs of a model: ids, masks and names, with errors that name the mistake."""

import operator
from collections.abc import Sequence
from typing import Any

import torch


def to_float32_or_wider(x: torch.Tensor) -> torch.Tensor:
    """Return x in float32, or unchanged if its type is wider."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def to_int64(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Return `tensor` as int64, the only integers that every operation of torch takes.

    Raises:
        ValueError: booleans or numbers that may be fractions; `name` is what the message calls them.
    """
    if tensor.dtype == torch.int64:
        return tensor
    if tensor.dtype == torch.bool or tensor.is_floating_point() or tensor.is_complex():
        raise ValueError(f"{name} must be integers, got {tensor.dtype} of shape {tuple(tensor.shape)}")
    return tensor.long()


def check_word_ids(input_ids: torch.Tensor, rows: int) -> torch.Tensor:
    """Return `input_ids` as int64, checked: integers (B, n), with B above 0, that lie within a table of `rows` rows.

    Ranges are only read on the CPU: on a device it would wait for the queue.

    Raises:
        ValueError: another shape or type, an empty batch, or an id outside the table.
    """
    input_ids = to_int64("input_ids", input_ids)
    if input_ids.dim() != 2:
        raise ValueError(f"input_ids must have the shape (batch, words), got {tuple(input_ids.shape)}")
    refuse_empty_batch("input_ids", input_ids)
    if torch.compiler.is_compiling() or input_ids.is_cuda or not input_ids.numel():
        return input_ids
    low, high = (int(value) for value in input_ids.aminmax())
    if low < 0 or high >= rows:
        raise ValueError(f"word id {low if low < 0 else high} is outside the table of {rows} rows")
    return input_ids


def refuse_empty_batch(name: str, tensor: torch.Tensor) -> None:
    """Raise ValueError for a batch without rows; `name` is what the message calls it."""
    if not torch.compiler.is_compiling() and tensor.size(0) == 0:
        raise ValueError(f"{name} of shape {tuple(tensor.shape)} is an empty batch: it holds no document")


def make_word_mask(words: torch.Tensor, attention_mask: torch.Tensor | None) -> torch.Tensor:
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
    return to_boolean_mask(attention_mask)


def to_boolean_mask(mask: torch.Tensor, name: str = "attention_mask") -> torch.Tensor:
    """Return a mask of zeros and ones as booleans.

    Raises:
        ValueError: another number, such as -1, 0.5 or NaN. Values are only read on the CPU: on a device it would wait
            for the queue.
    """
    if not (torch.compiler.is_compiling() or mask.is_cuda or mask.dtype == torch.bool):
        odd = mask[(mask != 0) & (mask != 1)]  # NaN is not equal to either
        if odd.numel():
            raise ValueError(f"{name} holds {odd[0].item()}; expected 1 at words and 0 at padding")
    return mask.bool()


def check_mask_without_gaps(mask: torch.Tensor) -> None:
    """Check that the words of a boolean mask (B, n) come first, as a recurrent layer needs them.

    Raises:
        ValueError: a word after padding; the message names row and position. Values are only read on the CPU: on a
            device it would wait for the queue.
    """
    if torch.compiler.is_compiling() or mask.is_cuda:
        return
    gaps = (mask[:, 1:] & ~mask[:, :-1]).nonzero()  # a word whose neighbour on the left is padding
    if len(gaps):
        row, position = gaps[0].tolist()
        raise ValueError(
            f"attention_mask has a word at row {row}, position {position + 1}, after padding; this model reads texts "
            "padded on the right"
        )


def look_up_rows(queries: Sequence[Any], rows: dict[str, int], kind: str) -> list[int]:
    """Return the row of each queried name.

    A number is a name as the data wrote it: 10, an integer of numpy or torch of that value, and "10" are all the thing
    called "10", never the tenth.

    Args:
        queries: Names as text or whole numbers, one or more.
        rows: Row of each name that is known, in the order of the rows.
        kind: Noun for a named thing, such as "item", for messages.

    Returns:
        Rows, one for each name.

    Raises:
        ValueError: nothing given, a name that there is not, or what is no name.
    """
    if isinstance(queries, str) or not len(queries):
        raise ValueError(f"expected a list of one {kind} or more, got {queries!r}")
    found = []
    for query in queries:
        row = rows.get(format_name(query, kind))
        if row is None:
            first, last = next(iter(rows)), next(reversed(rows))
            examples = repr(first) if len(rows) == 1 else f"{first!r} or {last!r}"
            raise ValueError(
                f"the model does not know the {kind} {str(query)!r}: expected one of its {len(rows):,} names, such as "
                f"{examples}"
            )
        found.append(row)
    return found


def number_names(names: Sequence[str], start: int = 0) -> dict[str, int]:
    """Return the row of each name, in their order from `start`."""
    return {name: row for row, name in enumerate(names, start)}


def format_name(value: Any, kind: str) -> str:
    """Return a text or a whole number as a name; `kind` is a noun such as "item" for messages.

    Raises:
        ValueError: anything else.
    """
    if isinstance(value, str):
        return str(value)
    try:
        # `operator.index` takes True for 1.
        if isinstance(value, bool):
            raise TypeError
        return str(operator.index(value))
    except TypeError:
        raise ValueError(f"{value!r} is no name of the {kind}: expected text or a whole number") from None
