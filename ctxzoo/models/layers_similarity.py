"""Parameters of the trilinear similarity and of the attention flow."""

import math
from typing import Literal

import torch
from torch import nn
from transformers import initialization as init

from .ops_attention_flow import attention_flow, trilinear_similarity
from .ops_dropout import dropout


def product_bound(width: int) -> float:
    """Bound of the uniform start of w_cq, for words that are `width` wide.

    The course starter's: Xavier's rule for a weight of the shape (1, 1, `width`), not for one of (1, `width`).
    """
    return math.sqrt(3 / width)


class TrilinearSimilarity(nn.Module):
    """S_ij = w_c.c_i + w_q.q_j + (w_cq * c_i).q_j + b; Xavier-uniform weights, zero bias (course starter)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.context_weight = nn.Parameter(torch.empty(width, 1))
        self.question_weight = nn.Parameter(torch.empty(width, 1))
        self.product_weight = nn.Parameter(torch.empty(1, width))
        self.bias = nn.Parameter(torch.empty(1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for weight in (self.context_weight, self.question_weight):
            init.xavier_uniform_(weight)
        bound = product_bound(self.product_weight.shape[1])
        init.uniform_(self.product_weight, -bound, bound)
        init.zeros_(self.bias)

    def forward(self, context: torch.Tensor, question: torch.Tensor) -> torch.Tensor:
        """(B, C, d), (B, Q, d) -> S (B, C, Q)."""
        dtype = context.dtype
        return trilinear_similarity(
            context,
            question,
            self.context_weight.flatten().to(dtype),
            self.question_weight.flatten().to(dtype),
            self.product_weight.flatten().to(dtype),
            self.bias.to(dtype),
        )


class AttentionFlow(nn.Module):
    """BiDAF's attention flow layer: similarity of dropped-out c and q, then G from c and q themselves.

    Args:
        width: d of the encoded words.
        dropout: rate on the c and q that enter S.
        query_to_context: see `ops_attention_flow.attention_flow`.
    """

    def __init__(
        self, width: int, dropout: float, query_to_context: Literal["coattention", "max"] = "coattention"
    ) -> None:
        super().__init__()
        self.similarity = TrilinearSimilarity(width)
        self.dropout = dropout
        self.query_to_context = query_to_context

    def forward(
        self, context: torch.Tensor, question: torch.Tensor, context_mask: torch.Tensor, question_mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(B, C, d), (B, Q, d), boolean masks -> G (B, C, 4d), S1 (B, C, Q), S2."""
        similarity = self.similarity(
            dropout(context, self.dropout, training=self.training),
            dropout(question, self.dropout, training=self.training),
        )
        return attention_flow(context, question, similarity, context_mask, question_mask, self.query_to_context)
