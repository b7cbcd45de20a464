"""Votes on bills: checks of what callers give, signs, and log-likelihoods of votes."""

from collections.abc import Iterable

import torch
from torch.nn import functional as F

from .ops_inputs import to_float32_or_wider, to_int64

NEW_BILL = -1


def check_bills(
    bag_of_words: torch.Tensor | None, bill_ids: torch.Tensor | None, vocab_size: int, num_bills: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Check the texts and ids of the bills of a batch, and return both.

    Args:
        bag_of_words: (B, V) counts of words, floats of 0 or more.
        bill_ids: (B,) ids of the bills, 0..num_bills - 1, or -1 for new ones; None: all are new.
        vocab_size: Size V of the vocabulary.
        num_bills: Number of bills D.

    Returns:
        Counts (B, V) and ids (B,) int64.

    Raises:
        ValueError: nothing given, another shape or type, an empty batch, a negative count or one that is no number, an
            id outside the bills (values are read on the CPU only: on a device it would wait for the queue).
    """
    if bag_of_words is None:
        raise ValueError("pass bag_of_words, (batch, vocab_size) the counts of the words of each bill")
    if bag_of_words.dim() != 2 or bag_of_words.size(1) != vocab_size:
        raise ValueError(
            f"bag_of_words must have the shape (batch, {vocab_size}), a count for each word, got "
            f"{tuple(bag_of_words.shape)}"
        )
    if not bag_of_words.is_floating_point():
        raise ValueError(f"bag_of_words must be floats, got {bag_of_words.dtype}")
    if bill_ids is None:
        ids = torch.full((bag_of_words.size(0),), NEW_BILL, device=bag_of_words.device)
    else:
        ids = to_int64("bill_ids", bill_ids)
    if ids.dim() != 1 or ids.size(0) != bag_of_words.size(0):
        raise ValueError(
            f"bill_ids must have the shape ({bag_of_words.size(0)},), one for each row, got {tuple(ids.shape)}"
        )
    if not torch.compiler.is_compiling():
        if ids.size(0) == 0:
            raise ValueError("the batch holds no bill; expected one or more")
        if not ids.is_cuda:
            low, high = (int(value) for value in ids.aminmax())
            if low < NEW_BILL or high >= num_bills:
                raise ValueError(
                    f"bill id {low if low < NEW_BILL else high} is none of the bills 0..{num_bills - 1}; -1 is new"
                )
            if not bool((bag_of_words >= 0).all()):
                raise ValueError("bag_of_words has a count below 0 or one that is no number; expected 0 or more")
    return bag_of_words, ids


def refuse_new_bills(bill_ids: torch.Tensor | None, ids: torch.Tensor, known_bills: str) -> None:
    """Raise an error if a batch has new bills.

    Where values are not read, see `mask_new_bill_logits`.

    Args:
        bill_ids: (B,) ids as the caller passed them; None: all are new.
        ids: (B,) ids as `check_bills` returned them.
        known_bills: Part of the model that exists for training bills only, and what to do, for the error message.

    Raises:
        ValueError: there is one.
    """
    read = not (torch.compiler.is_compiling() or ids.is_cuda)
    if bill_ids is None or (read and bool((ids < 0).any())):
        raise ValueError(f"bill id -1: {known_bills}")


def mask_new_bill_logits(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Return logits (B, U) with NaN for new bills, id -1, on which the model has no parameters."""
    return logits.masked_fill((ids < 0).unsqueeze(1), torch.nan)


def check_votes(name: str, votes: torch.Tensor | None, rows: int, num_legislators: int) -> torch.Tensor | None:
    """Check votes (B, U): 1 for yea, 0 for nay, NaN where none is known.

    Args:
        name: Name of the argument, for error messages.
        votes: (B, U) votes, or None.
        rows: Number B of bills in the batch.
        num_legislators: Number of legislators U.

    Raises:
        ValueError: another shape, integers, or another value, such as -1 for nay (values are read on the CPU only).
    """
    if votes is None:
        return None
    if votes.dim() != 2 or tuple(votes.shape) != (rows, num_legislators):
        raise ValueError(
            f"{name} must have the shape (batch, num_legislators), {(rows, num_legislators)}, got {tuple(votes.shape)}"
        )
    if not votes.is_floating_point():
        raise ValueError(f"{name} must be floats, 1 yea, 0 nay and NaN unknown, got {votes.dtype}")
    if not torch.compiler.is_compiling() and not votes.is_cuda:
        wrong = votes[~(votes.isnan() | (votes == 0) | (votes == 1))]
        if wrong.numel():
            raise ValueError(f"{name} holds {wrong[0].item():g}; expected 1 for yea, 0 for nay, NaN for unknown")
    return votes


def votes_to_signs(votes: torch.Tensor) -> torch.Tensor:
    """Turn votes, 1 for yea, 0 for nay and NaN for unknown, into signs +1, -1 and 0."""
    return torch.nan_to_num(2 * votes - 1, nan=0.0)


def vote_log_likelihood(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the log-likelihood of each vote in nats, in float32 or wider, 0 where none is known.

    Args:
        logits: Logits of a yea, a tensor of any shape.
        labels: Votes, a tensor of the same shape: 1 yea, 0 nay, NaN unknown.
    """
    signs = votes_to_signs(labels)
    # ln p is logsigmoid(x) for yea and logsigmoid(-x) for nay; a sign of 0 takes the unknown away.
    return F.logsigmoid(signs * to_float32_or_wider(logits)) * signs.abs()


def sum_of_squares(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    """Return the sum of the squares of all entries of tensors, in float32 or wider; 0 of none (quantised layers)."""
    # A product of a vector with itself passes over the numbers once.
    flat = [to_float32_or_wider(each).reshape(-1) for each in tensors]
    return torch.stack([torch.dot(each, each) for each in flat]).sum() if flat else torch.zeros(())


def find_common_voters(voted: torch.Tensor) -> torch.Tensor:
    """Return (U, U) whether two legislators both voted on some bill, from (D, U) booleans; False with themselves."""
    counts = voted.float()
    # Entry (u, v) of the product counts the bills on which both voted.
    return (counts.t() @ counts > 0) & ~torch.eye(voted.size(1), dtype=torch.bool, device=voted.device)
