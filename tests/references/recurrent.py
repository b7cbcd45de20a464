"""Reversal within a length and the steps of a GRU, one row and one step after the other, in float64."""

from __future__ import annotations

import torch


def reference_reverse_within_length(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Compute what `reverse_within_length` gives, (B, n, d), row by row."""
    rows = [torch.cat([row[:length].flip(0), row[length:]]) for row, length in zip(x, lengths.tolist(), strict=True)]
    return torch.stack(rows)


def reference_gru_steps(inputs: torch.Tensor, weight_hh: torch.Tensor, bias_hh: torch.Tensor) -> torch.Tensor:
    """Compute what `run_gru_steps` gives, (G, n, B, h), in float64, one GRU and one step after the other."""
    inputs, weight_hh, bias_hh = (value.double() for value in (inputs, weight_hh, bias_hh))
    outputs = []
    for given, weight, bias in zip(inputs, weight_hh, bias_hh, strict=True):
        state = given.new_zeros(given.size(1), weight.size(1))
        states = []
        for step in given:
            input_reset, input_update, input_new = step.chunk(3, dim=1)
            state_reset, state_update, state_new = (state @ weight.T + bias).chunk(3, dim=1)
            reset, update = torch.sigmoid(input_reset + state_reset), torch.sigmoid(input_update + state_update)
            state = (1 - update) * torch.tanh(input_new + reset * state_new) + update * state
            states.append(state)
        outputs.append(torch.stack(states))
    return torch.stack(outputs)
