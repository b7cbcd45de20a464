"""Self-attention over words: the paper's single head, and the one after the attention flow (Clark and Gardner 2018)."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .layers_dropout import SequenceDropout
from .layers_recurrent import MaskedBiRNN
from .layers_similarity import TrilinearSimilarity
from .ops_masking import masked_softmax


class SingleHeadSelfAttention(nn.Module):
    """X <- softmax(X W_q (X W_k)^T / sqrt(d)) X W_v; no bias, no output map.

    Args:
        width: d.
        dropout: rate on the attention weights.
        residual: False is the paper's literal layer, which has no path around it; True adds x and a LayerNorm [ours].
    """

    def __init__(self, width: int, dropout: float, residual: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width) if residual else None
        self.dropout = dropout

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """(B, n, d), boolean mask (B, n) -> (B, n, d)."""
        attended = F.scaled_dot_product_attention(
            self.query(x),
            self.key(x),
            self.value(x),
            attn_mask=mask.unsqueeze(1),
            dropout_p=self.dropout if self.training else 0.0,
        )
        return attended if self.norm is None else self.norm(x + attended)

    def weights(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The attention map (B, n, n), for inspection."""
        scores = self.query(x) @ self.key(x).transpose(1, 2) / math.sqrt(x.size(-1))
        return masked_softmax(scores, mask.unsqueeze(1), dim=2)


class ContextSelfAttention(nn.Module):
    """Self-attention of the context after the attention flow, with a residual connection (Clark and Gardner 2018, 3.2).

    x = relu(W G); r = BiGRU(x); a = trilinear self-attention of r, no word attending to itself; x + relu(W' [r ; a ;
    r*a]).

    Args:
        input_size: width of G.
        hidden_size: h; the output has width 2h.
        dropout: rate on the inputs of the GRU and of the attention.
        variational: one dropout mask over all time steps.
    """

    def __init__(self, input_size: int, hidden_size: int, dropout: float, variational: bool = False) -> None:
        super().__init__()
        width = 2 * hidden_size
        self.reduce = nn.Linear(input_size, width)
        self.encoder = MaskedBiRNN(width, hidden_size, cell="gru")
        self.similarity = TrilinearSimilarity(width)
        self.merge = nn.Linear(3 * width, width)
        self.drop = SequenceDropout(dropout, variational)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, C, input_size), boolean mask (B, C) -> (B, C, 2h) and the attention map (B, C, C)."""
        x = torch.relu(self.reduce(x))
        r = self.drop(self.encoder(self.drop(x), mask))
        similarity = self.similarity(r, r)
        others = ~torch.eye(x.size(1), dtype=torch.bool, device=x.device) & mask.unsqueeze(1)  # (B, C, C)
        # A context of one word has no other word to look at; its row must then be zero, not uniform over padding.
        weights = masked_softmax(similarity, others, dim=2) * others
        attended = torch.bmm(weights.to(r.dtype), r)
        return x + torch.relu(self.merge(torch.cat([r, attended, r * attended], dim=-1))), weights
