"""How GRU4REC, NARM and STAMP read a session, each behind one step or behind every step."""

import torch
from torch import nn

from .layers_session import StepAttention, glorot_linear
from .ops_execution import is_exporting
from .ops_recurrent import gru_steps, recurrent_scan
from .ops_session import last_steps, seen_steps


class SessionGru(nn.Module):
    """A GRU over item vectors, with the parameters of `nn.GRU`.

    Args:
        item_size: E.
        hidden_size: H.
    """

    def __init__(self, item_size: int, hidden_size: int) -> None:
        super().__init__()
        self.gru: nn.Module = nn.GRU(item_size, hidden_size, batch_first=True)

    def forward(self, items: torch.Tensor) -> torch.Tensor:
        """Return the states (B, T, H) of item vectors (B, T, E)."""
        if not isinstance(self.gru, nn.GRU):  # quantised by torch, which keeps its weights to itself
            quantised: torch.Tensor = self.gru(items)[0]
            return quantised
        weights: list[torch.Tensor] = list(self.gru.parameters())  # of inputs, of states, and their biases
        if is_exporting():
            return recurrent_scan(items, weights, "gru")
        if items.is_cuda or torch.compiler.is_compiling():
            states: torch.Tensor = self.gru(items)[0]
            return states
        given = nn.functional.linear(items, weights[0], weights[2]).transpose(0, 1).unsqueeze(0)
        return gru_steps(given, weights[1].unsqueeze(0), weights[3].unsqueeze(0))[0].transpose(0, 1)


class RecurrentReader(nn.Module):
    """GRU4REC: the last state h_T; or NARM: [the states weighed by `StepAttention`; h_T].

    Args:
        item_size, hidden_size: E and H.
        weighs: whether it is NARM.
    """

    def __init__(self, item_size: int, hidden_size: int, weighs: bool) -> None:
        super().__init__()
        self.rnn = SessionGru(item_size, hidden_size)
        self.attention = StepAttention(hidden_size) if weighs else None
        self.pooled_size = hidden_size * (2 if weighs else 1)

    def forward(
        self, items: torch.Tensor, mask: torch.Tensor, every_position: bool
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
        """Return what predictions are made from (B, P, ...), their weights (B, P, T) if any, and h (B, T, H)."""
        states = self.rnn(items) * mask.unsqueeze(2)
        last = states if every_position else last_steps(states, mask)
        if self.attention is None:
            return last, None, states
        summed, weights = self.attention(states.unsqueeze(1), last, seen_steps(mask, every_position))
        return torch.cat([summed, last], dim=2), weights, states


class StampReader(nn.Module):
    """STAMP: a_i = w_0 . sigmoid(W_1 x_i + W_2 x_T + W_3 m_s + b_a), not normalised; m_a = sum_i a_i x_i.

    Returned is tanh(W_s m_a + b_s) * tanh(W_t x_T + b_t), whose products with item vectors are the scores.

    Args:
        item_size: E.
    """

    def __init__(self, item_size: int) -> None:
        super().__init__()
        self.item = glorot_linear(item_size, item_size, bias=False)  # W_1
        self.last = glorot_linear(item_size, item_size, bias=False)  # W_2
        self.mean = glorot_linear(item_size, item_size)  # W_3 and b_a
        self.score = glorot_linear(item_size, 1, bias=False)  # w_0
        self.of_session = glorot_linear(item_size, item_size)  # W_s and b_s
        self.of_last = glorot_linear(item_size, item_size)  # W_t and b_t
        self.pooled_size = item_size

    def forward(
        self, items: torch.Tensor, mask: torch.Tensor, every_position: bool
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return what predictions are made from (B, P, E), a (B, P, T), and the item vectors (B, T, E)."""
        items = items * mask.unsqueeze(2)
        seen = seen_steps(mask, every_position)
        last = items if every_position else last_steps(items, mask)
        sees = seen.to(items.dtype)
        mean = (sees @ items) / sees.sum(dim=2, keepdim=True).clamp(min=1)
        of_prediction = (self.last(last) + self.mean(mean)).unsqueeze(2)
        weights = self.score(torch.sigmoid(self.item(items).unsqueeze(1) + of_prediction)).squeeze(3) * sees
        pooled = torch.tanh(self.of_session(weights @ items)) * torch.tanh(self.of_last(last))
        return pooled, weights, items
