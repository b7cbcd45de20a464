"""Attention over the states of a bidirectional GRU, with one or several heads; form as in `layers_text_encoder`."""

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_normal_linear import DEVIATION, NormalLinear
from .layers_recurrent import MaskedBiRNN
from .layers_text_encoder import Encoded
from .ops_masking import masked_softmax, refuse_gaps


class AttentiveRecurrentEncoder(nn.Module):
    """A = softmax over the words of the scores of each head; the vector of a text is A H, head after head.

    H are the states of a bidirectional GRU: h = 2 * `size` and d = m h, with m heads.

    Args:
        width: of the tokens.
        size: of each direction.
        scores: gives (B, n, m) from the states (B, n, h).
    """

    def __init__(self, width: int, size: int, scores: nn.Module) -> None:
        super().__init__()
        self.rnn = MaskedBiRNN(width, size, cell="gru")
        self.scores = scores

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Encoded:
        refuse_gaps(mask)
        states = self.rnn(x, mask)
        words = mask.unsqueeze(1)
        # The product is for a text without words, whose softmax is uniform over its padding.
        weights = masked_softmax(self.scores(states).transpose(1, 2), words, dim=2) * words
        pooled = (weights.to(states.dtype) @ states).flatten(1)
        return states, pooled, list(weights.unbind(dim=1))


class AdditiveScores(nn.Module):
    """W_s2 tanh(W_s1 h_t) (Lin et al. 2017, equation 6).

    Args:
        width: h.
        attention_size: rows of W_s1.
        num_heads: rows of W_s2.
    """

    def __init__(self, width: int, attention_size: int, num_heads: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, attention_size, bias=False)  # W_s1
        self.heads = nn.Linear(attention_size, num_heads, bias=False)  # W_s2

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.heads(torch.tanh(self.hidden(states)))
        return scores


class BilinearScores(nn.Module):
    """One head: c^T W_i u_t with u_t = tanh(W_w h_t + b_w) (Mehta et al. 2019, equations 3.7 and 3.8).

    All weights start from N(0, 0.1^2), as the paper has it for W_w and b_w.

    Args:
        width: h.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.projection = NormalLinear(width, width)  # W_w, b_w
        self.form = NormalLinear(width, width, bias=False)  # W_i
        self.context = nn.Parameter(torch.empty(width))  # c
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.normal_(self.context, std=DEVIATION)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        row = self.context.unsqueeze(0) @ self.form.weight  # c^T W_i, (1, h)
        return F.linear(torch.tanh(self.projection(states)), row)
