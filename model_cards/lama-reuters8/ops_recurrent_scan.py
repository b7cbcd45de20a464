"""One direction of an LSTM or GRU as a scan over time, for `torch.export`.

`torch.lstm` unrolls when it is exported, which fixes the number of steps; a scan stays a loop, so that the exported
program runs at any length and batch size. It is slower than `torch.lstm` and is meant for export alone, and for values:
with torch 2.11 the gradients of a scan are wrong.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch.nn import functional as F


def recurrent_scan(x: torch.Tensor, weights: Sequence[torch.Tensor], cell: Literal["lstm", "gru"]) -> torch.Tensor:
    """What `torch.lstm` / `torch.gru` give for one layer, left to right, from a zero state.

    Args:
        x: (B, n, D).
        weights: weight_ih (k h, D), weight_hh (k h, h), bias_ih (k h,), bias_hh (k h,); k = 4 for lstm, 3 for gru,
            gates in the order of `nn.LSTM` and `nn.GRU`.
        cell: "lstm" or "gru".

    Returns:
        (B, n, h).
    """
    # Imported here: only an export needs it, and it is not yet part of torch's public names.
    from torch._higher_order_ops.scan import scan

    weight_ih, weight_hh, bias_ih, bias_hh = weights
    inputs = F.linear(x, weight_ih, bias_ih).transpose(0, 1)  # (n, B, k h), for all steps at once
    zeros = inputs.new_zeros(x.size(0), weight_hh.size(1))

    def lstm_step(
        state: tuple[torch.Tensor, torch.Tensor], from_input: torch.Tensor
    ) -> tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor]:
        hidden, memory = state
        in_gate, forget_gate, candidate, out_gate = (from_input + F.linear(hidden, weight_hh, bias_hh)).chunk(4, dim=-1)
        memory = torch.sigmoid(forget_gate) * memory + torch.sigmoid(in_gate) * torch.tanh(candidate)
        hidden = torch.sigmoid(out_gate) * torch.tanh(memory)
        return (hidden, memory), hidden.clone()  # what a scan carries and what it collects must not be one tensor

    def gru_step(hidden: torch.Tensor, from_input: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        input_reset, input_update, input_new = from_input.chunk(3, dim=-1)
        state_reset, state_update, state_new = F.linear(hidden, weight_hh, bias_hh).chunk(3, dim=-1)
        update = torch.sigmoid(input_update + state_update)
        new = torch.tanh(input_new + torch.sigmoid(input_reset + state_reset) * state_new)
        hidden = (1 - update) * new + update * hidden
        return hidden, hidden.clone()

    outputs: torch.Tensor
    if cell == "lstm":
        _, outputs = scan(lstm_step, (zeros, zeros.clone()), inputs)
    else:
        _, outputs = scan(gru_step, zeros, inputs)
    return outputs.transpose(0, 1)
