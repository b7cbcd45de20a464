"""A bidirectional LSTM or GRU over right-padded sequences, the fast way on each device."""

from typing import Literal

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .ops_execution import disable_autocast, is_exporting
from .ops_recurrent import reverse_within_length, run_gru_steps, run_recurrent_scan

PARAMETERS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # the names in nn.LSTM and nn.GRU, for each direction
SUFFIXES = ("_l0", "_l0_reverse")


class MaskedBiRNN(nn.Module):
    """One bidirectional layer whose outputs do not depend on padding.

    The parameters are those of `nn.LSTM(bidirectional=True)` (or `nn.GRU`). Nothing is packed: the second direction
    runs over every row reversed within its length. On the CPU the backward pass of a packed layer spends its time
    filling memory, while an unpacked LSTM uses oneDNN; GRUs, which it does not have, run by `run_gru_steps`. On a CUDA
    device packed LSTMs were the slower ones where both were timed, and lengths would have to come to the CPU. For
    `torch.export` each direction is a scan: other ways fix the length. Under autocast on a CPU without AVX-512, where
    oneDNN refuses LSTMs in half precision, the layer computes in float32. A layer that torch has quantised keeps its
    weights to itself, and reads packed rows.

    Args:
        input_size: Number D of input features.
        hidden_size: Hidden size h of each direction.
        cell: Kind of the recurrent cell, "lstm" or "gru".
    """

    def __init__(self, input_size: int, hidden_size: int, cell: Literal["lstm", "gru"] = "lstm") -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.cell: Literal["lstm", "gru"] = cell
        rnn_class = nn.LSTM if cell == "lstm" else nn.GRU
        self.rnn: nn.Module = rnn_class(input_size, hidden_size, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the states (B, n, 2h) of x (B, n, D), zero at padding.

        The mask is boolean, (B, n), with the real positions first.
        """
        lengths = mask.sum(dim=1)
        if not isinstance(self.rnn, nn.RNNBase):
            return self._run_quantised_layer(x, lengths) * mask.unsqueeze(-1)
        reversed_x = reverse_within_length(x, lengths)
        if self.cell == "gru" and not (x.is_cuda or torch.compiler.is_compiling()):
            forward, backward = self._run_gru_directions(x, reversed_x)
        else:
            forward, backward = self._run_direction(x, reverse=False), self._run_direction(reversed_x, reverse=True)
        return torch.cat([forward, reverse_within_length(backward, lengths)], dim=-1) * mask.unsqueeze(-1)

    def _run_quantised_layer(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the states (B, n, 2h) by the layer that torch's dynamic quantisation put in place of the other."""
        if x.size(1) == 0 or x.size(0) == 0:
            return x.new_zeros(x.size(0), x.size(1), 2 * self.hidden_size)
        # Packing refuses a length of 0; what such a row gives is multiplied by 0 afterwards.
        packed = pack_padded_sequence(x, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=x.size(1))[0]

    def _run_gru_directions(self, x: torch.Tensor, reversed_x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the states (B, n, h) of both directions, computed at once, each left to right."""
        weight_ih, weight_hh, bias_ih, bias_hh = (
            torch.stack([getattr(self.rnn, name + suffix) for suffix in SUFFIXES]) for name in PARAMETERS
        )  # (2, 3h, D), (2, 3h, h), (2, 3h) twice
        batch, length, width = x.shape
        both = torch.stack([x, reversed_x]).transpose(1, 2).reshape(2, length * batch, width)  # (2, n B, D)
        inputs = torch.baddbmm(bias_ih.unsqueeze(1), both, weight_ih.transpose(1, 2))  # (2, n B, 3h)
        # The states come as (2, n, B, h); each direction is then (B, n, h).
        forward, backward = run_gru_steps(inputs.view(2, length, batch, -1), weight_hh, bias_hh).transpose(1, 2)
        return forward, backward

    def _run_direction(self, x: torch.Tensor, reverse: bool) -> torch.Tensor:
        """Return the states (B, n, h) of one direction, left to right, with that direction's weights."""
        weights = [getattr(self.rnn, name + SUFFIXES[reverse]) for name in PARAMETERS]
        if is_exporting():
            return run_recurrent_scan(x, weights, self.cell)
        if x.is_cuda:
            weights = _make_contiguous(weights)
        state = x.new_zeros(1, x.size(0), self.hidden_size)
        # cuDNN can go backward only through what it computed as in training, and without dropout that is the same.
        training = torch.is_grad_enabled()
        # What follows the weights: has_biases, num_layers, dropout, train, bidirectional, batch_first.
        if self.cell == "lstm":
            if _lacks_half_precision_lstm(x):
                with disable_autocast(x.device):
                    x, state = x.to(weights[0].dtype), state.to(weights[0].dtype)
                    return torch.lstm(x, (state, state), weights, True, 1, 0.0, training, False, True)[0]
            return torch.lstm(x, (state, state), weights, True, 1, 0.0, training, False, True)[0]
        return torch.gru(x, state, weights, True, 1, 0.0, training, False, True)[0]


def _lacks_half_precision_lstm(x: torch.Tensor) -> bool:
    """Return whether autocast asks for an LSTM in half precision, which oneDNN has on this CPU for no such type."""
    if x.device.type != "cpu" or torch.compiler.is_compiling() or not torch.is_autocast_enabled("cpu"):
        return False
    is_bfloat16 = torch.get_autocast_dtype("cpu") == torch.bfloat16
    return not (is_bfloat16 and torch.backends.cpu.get_cpu_capability().startswith("AVX512"))


def _make_contiguous(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return the weights as parts of one tensor, one behind the other: otherwise cuDNN copies them, with a warning."""
    parts = torch.split(torch.cat([tensor.flatten() for tensor in tensors]), [tensor.numel() for tensor in tensors])
    return [part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True)]
