"""The usual way to keep padding out of a recurrence, for the sides that are compared with `MaskedBiRNN`."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def packed_states(rnn: nn.LSTM | nn.GRU, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the states (B, n, 2h) of a bidirectional layer for x (B, n, D), zero where the boolean mask (B, n) is."""
    lengths = mask.sum(dim=1).clamp(min=1).cpu()  # at least 1: packing refuses empty sequences
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    output, _ = pad_packed_sequence(rnn(packed)[0], batch_first=True, total_length=x.size(1))
    return output * mask.unsqueeze(-1)
