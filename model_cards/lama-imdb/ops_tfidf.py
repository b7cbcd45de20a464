"""TF-IDF of the ids of a text, without building a vector of all ids."""

import torch
from torch.nn import functional as F


def tfidf(
    input_ids: torch.Tensor, mask: torch.Tensor, inverse_document_frequency: torch.Tensor, group_starts: list[int]
) -> torch.Tensor:
    """Return what each position adds to the TF-IDF vector of its text.

    With c occurrences of an id in a text, its entry of the vector is (1 + log c) idf(id), and each occurrence adds a
    c-th of it. The entries of a group of ids are then divided by the length of the group's part of the vector, as
    scikit-learn's `TfidfVectorizer(sublinear_tf=True)` has it, one for each group.

    Args:
        input_ids: (B, n).
        mask: boolean (B, n), true at what counts.
        inverse_document_frequency: (V,), 0 for an id that does not count.
        group_starts: first id of each group, ascending; the first is 0.

    Returns:
        (B, n) in the type of `inverse_document_frequency`, 0 outside the mask.
    """
    ids = torch.where(mask, input_ids, torch.zeros_like(input_ids))
    counts = occurrences(ids).to(inverse_document_frequency.dtype)
    entries = (1 + counts.log()) * torch.where(
        mask, inverse_document_frequency[ids], inverse_document_frequency.new_zeros(())
    )
    parts = entries / counts
    # Each of c occurrences adds a c-th of the square of the entry.
    squares = entries * parts
    weights = torch.zeros_like(parts)
    ends = [*group_starts[1:], inverse_document_frequency.size(0)]
    for start, end in zip(group_starts, ends, strict=True):
        inside = (ids >= start) & (ids < end)
        length = (squares * inside).sum(dim=1, keepdim=True).sqrt()
        weights = weights + torch.where(inside & (length > 0), parts / length, torch.zeros_like(parts))
    return weights


def occurrences(ids: torch.Tensor) -> torch.Tensor:
    """Return (B, n) how often the id of each position of ids (B, n) stands in its row."""
    values, order = ids.sort(dim=1)
    # The value before, of n columns again: a slice of n - 1 would bind an exported program to n >= 3.
    before = F.pad(values, (1, 0), value=-1)[:, :-1]
    group = (values != before).long().cumsum(dim=1) - 1
    sizes = torch.zeros_like(ids).scatter_add(1, group, torch.ones_like(ids))
    return torch.zeros_like(ids).scatter(1, order, sizes.gather(1, group))
