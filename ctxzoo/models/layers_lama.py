"""Multi-head attention whose heads are bilinear forms of low rank (Mehta et al. 2019, section 3.3)."""

import math
import warnings

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .ops_words import masked_softmax


class LowRankAttention(nn.Module):
    """Attention weights A (B, m, n): the weight of each word for each of m heads.

    f_t = (P^T c) * (Q^T u_t), summed over the k members of each head                        (3.10, 3.11)
    f_t = tanh(f_t), then divided by its length over the m heads
    A = softmax over the real words of logit_scale * f                                       (3.12, 3.13)

    With one head the division leaves the sign of f alone, whose gradient is 0: P, Q and c are then never trained, and a
    warning says so.

    Args:
        width: D, of the words and the context.
        num_heads: m.
        rank: k; the columns of head i in P and Q are i k to (i + 1) k - 1.
        l2_normalize: whether to divide by the length.
        logit_scale: value of the factor.
    """

    def __init__(self, width: int, num_heads: int, rank: int, *, l2_normalize: bool, logit_scale: float) -> None:
        super().__init__()
        if num_heads == 1 and l2_normalize:
            warnings.warn(
                "num_heads=1 with l2_normalize=True: the attention never learns, since a number divided by its length "
                "has no gradient; set l2_normalize=False or take more heads",
                stacklevel=2,
            )
        self.num_heads = num_heads
        self.rank = rank
        self.l2_normalize = l2_normalize
        self.logit_scale = float(logit_scale)
        self.context_factors = nn.Parameter(torch.empty(width, num_heads * rank))  # P
        self.word_factors = nn.Parameter(torch.empty(width, num_heads * rank))  # Q
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw P and Q from Xavier's uniform distribution (the paper is silent)."""
        bound = math.sqrt(6 / sum(self.context_factors.shape))
        init.uniform_(self.context_factors, -bound, bound)
        init.uniform_(self.word_factors, -bound, bound)

    def forward(self, words: torch.Tensor, context: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the weights A (B, m, n) in float32 or wider, which sum to 1 over the words of a document; 0 elsewhere.

        Args:
            words: (B, n, D), u.
            context: (B, D) or (D,), c.
            mask: boolean (B, n). A document without words has weights 0.
        """
        return masked_softmax(self.logits(words, context), mask.unsqueeze(1), dim=2) * mask.unsqueeze(1)

    def logits(self, words: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        """Return logit_scale * f, (B, m, n), which the softmax then makes weights of."""
        gate = (context @ self.context_factors).unsqueeze(-2)  # (B, 1, m k)
        scores = (words @ self.word_factors) * gate
        if self.rank > 1:
            scores = scores.reshape(*scores.shape[:2], self.num_heads, self.rank).sum(dim=3)
        if scores.dtype in (torch.float16, torch.bfloat16):
            scores = scores.float()
        scores = torch.tanh(scores)
        if self.l2_normalize:
            scores = F.normalize(scores, dim=2, eps=1e-12)
        return (self.logit_scale * scores).transpose(1, 2)

    def extra_repr(self) -> str:
        return f"{self.word_factors.size(0)}, num_heads={self.num_heads}, rank={self.rank}"
