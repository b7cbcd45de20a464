"""The usual way to keep padding out of a recurrence, for the sides that are compared with `MaskedBiRNN`."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def compute_packed_states(rnn: nn.LSTM | nn.GRU, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Run a bidirectional LSTM or GRU on packed sequences; return its states (B, n, 2h), zero at padding.

    Inputs x are (B, n, D); `lengths` (B,) are at least 1.
    """
    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    output: torch.Tensor = pad_packed_sequence(rnn(packed)[0], batch_first=True, total_length=x.size(1))[0]
    return output


def compute_packed_states_of_mask(rnn: nn.LSTM | nn.GRU, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Run a bidirectional LSTM or GRU on packed sequences by a boolean mask (B, n), which may have empty rows.

    Returns the states (B, n, 2h) for x (B, n, D), zero at padding.
    """
    return compute_packed_states(rnn, x, mask.sum(dim=1).clamp(min=1)) * mask.unsqueeze(-1)
