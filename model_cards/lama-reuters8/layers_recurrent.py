"""A bidirectional LSTM or GRU over right-padded sequences, the fast way on each device."""

from typing import Literal

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .ops_recurrent import gru_steps, recurrent_scan, reverse_within_length
from .ops_tracing import is_exporting

PARAMETERS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # the names in nn.LSTM and nn.GRU, for each direction
SUFFIXES = ("_l0", "_l0_reverse")


class MaskedBiRNN(nn.Module):
    """One bidirectional layer whose outputs do not depend on padding.

    The parameters are those of `nn.LSTM(bidirectional=True)` (or `nn.GRU`). On a CUDA device the sequences are packed.
    On the CPU the second direction runs over every row reversed within its length: LSTMs as two unpacked layers, since
    the backward pass of a packed one spends its time filling memory there, while the unpacked one uses oneDNN; GRUs,
    which it does not have, by `gru_steps`. For `torch.export` each direction is a scan: other ways fix the length.

    Args:
        input_size: D.
        hidden_size: h of each direction.
        cell: "lstm" or "gru".
    """

    def __init__(self, input_size: int, hidden_size: int, cell: Literal["lstm", "gru"] = "lstm") -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.cell: Literal["lstm", "gru"] = cell
        rnn_class = nn.LSTM if cell == "lstm" else nn.GRU
        self.rnn = rnn_class(input_size, hidden_size, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the states (B, n, 2h) of x (B, n, D), zero at padding.

        The mask is boolean, (B, n), with the real positions first.
        """
        if x.is_cuda and not torch.compiler.is_compiling():
            return self._packed(x, mask)
        lengths = mask.sum(dim=1)
        reversed_x = reverse_within_length(x, lengths)
        if self.cell == "gru" and not torch.compiler.is_compiling():
            forward, backward = self._gru_steps(x, reversed_x)
        else:
            forward, backward = self._direction(x, reverse=False), self._direction(reversed_x, reverse=True)
        return torch.cat([forward, reverse_within_length(backward, lengths)], dim=-1) * mask.unsqueeze(-1)

    def _packed(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        lengths = mask.sum(dim=1).clamp(min=1).cpu()  # at least 1: packing refuses empty sequences
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        state = x.new_zeros(len(SUFFIXES), x.size(0), self.hidden_size)
        weights = [getattr(self.rnn, name + suffix) for suffix in SUFFIXES for name in PARAMETERS]
        # cuDNN can go backward only through what it computed as in training, and without dropout that is the same.
        training = torch.is_grad_enabled()
        if self.cell == "lstm":
            hx = (state, state)
            states = torch.lstm(packed.data, packed.batch_sizes, hx, weights, True, 1, 0.0, training, True)[0]
        else:
            states = torch.gru(packed.data, packed.batch_sizes, state, weights, True, 1, 0.0, training, True)[0]
        output, _ = pad_packed_sequence(packed._replace(data=states), batch_first=True, total_length=x.size(1))
        return output * mask.unsqueeze(-1)

    def _gru_steps(self, x: torch.Tensor, reversed_x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the states (B, n, h) of both directions, computed at once, each left to right."""
        weight_ih, weight_hh, bias_ih, bias_hh = (
            torch.stack([getattr(self.rnn, name + suffix) for suffix in SUFFIXES]) for name in PARAMETERS
        )
        batch, length, width = x.shape
        both = torch.stack([x, reversed_x]).transpose(1, 2).reshape(2, length * batch, width)
        inputs = torch.baddbmm(bias_ih.unsqueeze(1), both, weight_ih.transpose(1, 2))
        forward, backward = gru_steps(inputs.view(2, length, batch, -1), weight_hh, bias_hh).transpose(1, 2)
        return forward, backward

    def _direction(self, x: torch.Tensor, reverse: bool) -> torch.Tensor:
        """Return the states (B, n, h) of one direction, left to right, with that direction's weights."""
        weights = [getattr(self.rnn, name + SUFFIXES[reverse]) for name in PARAMETERS]
        if is_exporting():
            return recurrent_scan(x, weights, self.cell)
        state = x.new_zeros(1, x.size(0), self.hidden_size)
        if self.cell == "lstm":
            return torch.lstm(x, (state, state), weights, True, 1, 0.0, self.training, False, True)[0]
        return torch.gru(x, state, weights, True, 1, 0.0, self.training, False, True)[0]
