"""The wide part of a classifier: scores linear in the TF-IDF of words and n-grams (Cheng et al. 2016)."""

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .ops_tfidf import tfidf


class WideScores(nn.Module):
    """Scores of classes that are linear in the TF-IDF of a text's ids: weight^T tfidf + bias.

    Args:
        num_ids: V, rows of the table.
        num_labels: L.
        group_starts: first id of each group of ids whose part of the TF-IDF has length 1; see `tfidf`.
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
        return self.contributions(input_ids, mask).sum(dim=1) + self.bias

    def contributions(self, input_ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return what each position adds to the scores, (B, n, L), 0 outside the mask; with the bias they add up."""
        values = tfidf(input_ids, mask, self.inverse_document_frequency, self.group_starts)
        rows = F.embedding(torch.where(mask, input_ids, torch.zeros_like(input_ids)), self.weight)
        return values.unsqueeze(-1) * rows

    @torch.no_grad()
    def start(self, inverse_document_frequency: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> None:
        """Take the numbers (V,), (V, L) and (L,) of a linear classifier.

        Raises:
            ValueError: another shape.
        """
        given = {"inverse_document_frequency": inverse_document_frequency, "weight": weight, "bias": bias}
        for name, value in given.items():
            own = getattr(self, name)
            if value.shape != own.shape:
                raise ValueError(f"{name} of shape {tuple(value.shape)}; expected {tuple(own.shape)}")
            own.copy_(value)
