"""The wide part of a classifier: scores linear in the TF-IDF of words and n-grams (Cheng et al. 2016).

No vector of all ids is built.
"""

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init


class TfidfLinearScores(nn.Module):
    """Scores of classes that are linear in the TF-IDF of a text's ids: weight^T tfidf + bias.

    Args:
        num_ids: Number V of rows of the table.
        num_labels: Number of labels L.
        group_starts: First id of each group of ids; the TF-IDF vector of each group has length 1, see `tfidf`.
    """

    inverse_document_frequency: torch.Tensor

    def __init__(self, num_ids: int, num_labels: int, group_starts: list[int]) -> None:
        super().__init__()
        self.group_starts = group_starts
        self.weight = nn.Parameter(torch.empty(num_ids, num_labels))
        self.bias = nn.Parameter(torch.empty(num_labels))
        self.register_buffer("inverse_document_frequency", torch.empty(num_ids))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.zeros_(self.weight)
        init.zeros_(self.bias)
        init.ones_(self.inverse_document_frequency)

    def forward(self, input_ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the scores (B, L) of texts with input_ids (B, n) where the boolean mask (B, n) is true."""
        # No matrix product: in mixed precision it would round, and the scores are sums of hundreds of numbers.
        return self.position_contributions(input_ids, mask).sum(dim=1) + self.bias

    def position_contributions(self, input_ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the part that each position adds to the scores, (B, n, L), 0 outside the mask; the bias is apart."""
        values = tfidf(input_ids, mask, self.inverse_document_frequency, self.group_starts)
        rows = F.embedding(torch.where(mask, input_ids, torch.zeros_like(input_ids)), self.weight)  # (B, n, L)
        return values.unsqueeze(-1) * rows

    @torch.no_grad()
    def init_from_linear_classifier(
        self, inverse_document_frequency: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
    ) -> None:
        """Copy the weights of a linear classifier: IDF (V,), weight (V, L) and bias (L,).

        Raises:
            ValueError: another shape.
        """
        values = {"inverse_document_frequency": inverse_document_frequency, "weight": weight, "bias": bias}
        for name, value in values.items():
            buffer = getattr(self, name)
            if value.shape != buffer.shape:
                raise ValueError(f"{name} of shape {tuple(value.shape)}; expected {tuple(buffer.shape)}")
            buffer.copy_(value)


def tfidf(
    input_ids: torch.Tensor, mask: torch.Tensor, inverse_document_frequency: torch.Tensor, group_starts: list[int]
) -> torch.Tensor:
    """Return the part of the TF-IDF vector of its text that each position contributes.

    With c occurrences of an id in a text, its entry of the vector is (1 + log c) idf(id), and each occurrence adds a
    c-th of it. The entries of a group of ids are then divided by the length of the group's part of the vector, as
    scikit-learn's `TfidfVectorizer(sublinear_tf=True)` has it, one for each group.

    Args:
        input_ids: (B, n) ids of words.
        mask: Boolean (B, n), True at ids that count.
        inverse_document_frequency: (V,) inverse document frequency of each id; 0: the id does not count.
        group_starts: First id of each group, ascending; the first is 0.

    Returns:
        (B, n) in the type of `inverse_document_frequency`, 0 outside the mask.
    """
    ids = torch.where(mask, input_ids, torch.zeros_like(input_ids))
    counts = count_occurrences(ids).to(inverse_document_frequency.dtype)
    entries = (1 + counts.log()) * torch.where(
        mask, inverse_document_frequency[ids], inverse_document_frequency.new_zeros(())
    )  # (B, n), the whole entry at each occurrence
    parts = entries / counts
    # Each of c occurrences adds a c-th of the square of the entry.
    squares = entries * parts
    weights = torch.zeros_like(parts)
    ends = [*group_starts[1:], inverse_document_frequency.size(0)]
    for start, end in zip(group_starts, ends, strict=True):
        inside = (ids >= start) & (ids < end)
        length = (squares * inside).sum(dim=1, keepdim=True).sqrt()  # (B, 1)
        # A text without an id of the group has length 0: quotients by it are not taken.
        weights = weights + torch.where(inside & (length > 0), parts / length, torch.zeros_like(parts))
    return weights


def count_occurrences(ids: torch.Tensor) -> torch.Tensor:
    """Count how often the id of each position of ids (B, n) occurs in its row, (B, n)."""
    values, order = ids.sort(dim=1)
    # The value before, of n columns again: a slice of n - 1 would bind an exported program to n >= 3.
    before = F.pad(values, (1, 0), value=-1)[:, :-1]
    group = (values != before).long().cumsum(dim=1) - 1  # (B, n), the number of a run of equal ids
    sizes = torch.zeros_like(ids).scatter_add(1, group, torch.ones_like(ids))  # (B, n), the length of each run
    return torch.zeros_like(ids).scatter(1, order, sizes.gather(1, group))
