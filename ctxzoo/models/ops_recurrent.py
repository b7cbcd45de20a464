"""Functions for a bidirectional LSTM or GRU where torch's own is slow, or would fix the length of the sequences.

`reverse_within_length` turns right-padded sequences round, for the second direction.

`run_gru_steps` runs several GRUs side by side on the CPU, faster in training than torch's
(benchmarks/document_attention.py): torch.gru notes for every step a dozen operations for the backward pass, here the
whole recurrence is one operation. All that a step's gradient needs beside the gradient itself is computed for all steps
at once, and the gradient of the weights is one product.

`run_recurrent_scan` is one direction as a scan over time, for `torch.export`: `torch.lstm` unrolls when it is exported,
which fixes the number of steps; a scan stays a loop, so that the exported program runs at any length and batch size. It
is slower than `torch.lstm` and is meant for export alone, and for values: with torch 2.11 the gradients of a scan are
wrong.
"""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch.nn import functional as F

from .ops_execution import refuse_second_derivative


def reverse_within_length(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Reverse the first `lengths[b]` steps of row b; padding stays where it is.

    The function is its own inverse.

    Args:
        x: (B, n, d) sequences.
        lengths: (B,) lengths of the sequences, integers in 0..n.

    Returns:
        The reversed rows, (B, n, d).
    """
    batch, length, width = x.shape
    steps = torch.arange(length, device=x.device)
    mirrored = lengths.unsqueeze(1) - 1 - steps
    index = torch.where(mirrored >= 0, mirrored, steps)  # (B, n)
    # Rows of all sequences one after the other: one index takes a row as a whole.
    index = index + length * torch.arange(batch, device=x.device).unsqueeze(1)
    rows: torch.Tensor = _Rearrange.apply(x.reshape(batch * length, width), index.flatten())  # type: ignore[no-untyped-call]
    return rows.view(batch, length, width)


class _Rearrange(torch.autograd.Function):
    """`rows[index]` for an index that is its own inverse: the gradient is rearranged in the same way, not scattered."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(index)
        return rows.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradient in the former order: this permutation is its own inverse."""
        (index,) = ctx.saved_tensors
        return _Rearrange.apply(gradient.contiguous(), index), None  # type: ignore[no-untyped-call]


def run_gru_steps(inputs: torch.Tensor, weight_hh: torch.Tensor, bias_hh: torch.Tensor) -> torch.Tensor:
    """Return the states of G GRUs that start from zero, with gates in the order of `nn.GRU`: reset, update, new.

    With r = sigmoid(i_r + W_r h + b_r), z = sigmoid(i_z + W_z h + b_z), n = tanh(i_n + r * (W_n h + b_n)),
    a step is h <- (1 - z) * n + z * h. It is computed in float32 or wider.

    Args:
        inputs: (G, n, B, 3h) input part W_ih x + b_ih of the gates, for each of G layers.
        weight_hh: (G, 3h, h) recurrent weights.
        bias_hh: (G, 3h) recurrent biases.

    Returns:
        (G, n, B, h), in the type of `inputs`.
    """
    wide = torch.promote_types(inputs.dtype, torch.float32)
    arguments = (inputs.to(wide), weight_hh.to(wide), bias_hh.to(wide))
    trained = torch.is_grad_enabled() and any(value.requires_grad for value in arguments)
    with torch.autocast(inputs.device.type, enabled=False):
        states: torch.Tensor = _GruSteps.apply(*arguments) if trained else _compute_gru_states(*arguments)  # type: ignore[no-untyped-call]
    return states.to(inputs.dtype)


def _compute_gru_states(inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the states (G, n, B, h) as `run_gru_steps` does, without a gradient.

    For few sequences a step is as long as its calls to torch: there are six, and no views are made of each step's part.
    """
    groups, length, batch, _ = inputs.shape
    size = weight.size(2)
    states = inputs.new_empty(length, groups, batch, size)
    state, recurrent = inputs.new_zeros(groups, batch, size), inputs.new_empty(groups, batch, 3 * size)
    gates, new = recurrent[..., : 2 * size], recurrent[..., 2 * size :]
    reset, update = gates.chunk(2, dim=-1)
    transposed, rows = weight.transpose(1, 2).contiguous(), bias.unsqueeze(1)
    parts = inputs[..., : 2 * size].unbind(1), inputs[..., 2 * size :].unbind(1), states.unbind(0)
    for step_gates, step_new, step_state in zip(*parts, strict=True):
        torch.baddbmm(rows, state, transposed, out=recurrent)
        gates.add_(step_gates).sigmoid_()
        # torch.lerp(n, h, z) is (1 - z) n + z h.
        state = torch.lerp(torch.addcmul(step_new, reset, new).tanh_(), state, update, out=step_state)
    return states.transpose(0, 1)


class _GruSteps(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        groups, length, batch, _ = inputs.shape
        size = weight.size(2)
        states = inputs.new_empty(groups, length, batch, size)
        gates = inputs.new_empty(groups, length, batch, 2 * size)  # r and z
        candidates = inputs.new_empty(groups, length, batch, size)  # n
        recurrent_new = torch.empty_like(candidates)  # W_n h + b_n
        state = inputs.new_zeros(groups, batch, size)
        transposed, rows = weight.transpose(1, 2), bias.unsqueeze(1)
        for step in range(length):
            recurrent = torch.baddbmm(rows, state, transposed)  # (G, B, 3h)
            step_inputs, step_gates = inputs[:, step], gates[:, step]
            torch.add(step_inputs[..., : 2 * size], recurrent[..., : 2 * size], out=step_gates).sigmoid_()
            recurrent_new[:, step] = recurrent[..., 2 * size :]
            candidate = candidates[:, step]
            torch.addcmul(
                step_inputs[..., 2 * size :], step_gates[..., :size], recurrent[..., 2 * size :], out=candidate
            ).tanh_()
            # torch.lerp(n, h, z) is (1 - z) n + z h.
            state = torch.lerp(candidate, state, step_gates[..., size:], out=states[:, step])
        ctx.save_for_backward(weight, states, gates, candidates, recurrent_new)
        return states

    @staticmethod
    @refuse_second_derivative("a GRU on the CPU")
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the gradients of input projections, recurrent weights and recurrent biases."""
        weight, states, gates, candidates, recurrent_new = ctx.saved_tensors
        groups, length, batch, size = states.shape
        reset, update = gates.chunk(2, dim=3)  # (G, n, B, h) each
        # The state before each step, from the zero state on.
        before = torch.cat([states.new_zeros(groups, 1, batch, size), states], dim=1)[:, :length]
        to_new = (1 - update) * (1 - candidates * candidates)  # of h by what tanh is taken of
        # The gradient of a state times these is the gradient of W h + b.
        slopes = torch.stack(
            [
                to_new * recurrent_new * reset * (1 - reset),
                (before - candidates) * update * (1 - update),
                to_new * reset,
            ],
            dim=3,
        )  # (G, n, B, 3, h)
        grad_recurrent, grad_states = torch.empty_like(slopes), torch.empty_like(states)
        if length:
            grad_states[:, -1] = gradient[:, -1]
        for step in range(length - 1, -1, -1):
            grad_state = grad_states[:, step]
            products = torch.mul(slopes[:, step], grad_state.unsqueeze(2), out=grad_recurrent[:, step])
            if step:
                grad_earlier_state = grad_states[:, step - 1]
                # To the state before: from outside, through z h, and through the product with W.
                torch.addcmul(gradient[:, step - 1], grad_state, update[:, step], out=grad_earlier_state)
                grad_earlier_state.baddbmm_(products.flatten(2), weight)
        flat = grad_recurrent.reshape(groups, length * batch, 3 * size)
        grad_weight = flat.transpose(1, 2) @ before.reshape(groups, length * batch, size)
        # Inputs of r and z have the gradients of W h + b; that of n has not the factor r.
        grad_inputs = torch.cat([grad_recurrent[:, :, :, :2].flatten(3), grad_states * to_new], dim=3)
        return grad_inputs, grad_weight, flat.sum(dim=1)


def run_recurrent_scan(x: torch.Tensor, weights: Sequence[torch.Tensor], cell: Literal["lstm", "gru"]) -> torch.Tensor:
    """Run one layer as `torch.lstm` or `torch.gru` does, left to right, from a zero state.

    Args:
        x: (B, n, D) input steps.
        weights: weight_ih (k h, D), weight_hh (k h, h), bias_ih (k h,), bias_hh (k h,); k = 4 for lstm, 3 for gru,
            gates in the order of `nn.LSTM` and `nn.GRU`.
        cell: Kind of the recurrent cell, "lstm" or "gru".

    Returns:
        (B, n, h).
    """
    # The import stands here because only an export needs it, and it is not yet one of torch's public names.
    from torch._higher_order_ops.scan import scan

    weight_ih, weight_hh, bias_ih, bias_hh = weights
    inputs = F.linear(x, weight_ih, bias_ih).transpose(0, 1)  # (n, B, k h), for all steps at once
    zeros = inputs.new_zeros(x.size(0), weight_hh.size(1))

    def lstm_step(
        state: tuple[torch.Tensor, torch.Tensor], from_input: torch.Tensor
    ) -> tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor]:
        """Return (h, c) of one LSTM step as the next state, and h to collect; `from_input` is W x + b (B, 4h)."""
        hidden, memory = state
        in_gate, forget_gate, candidate, out_gate = (from_input + F.linear(hidden, weight_hh, bias_hh)).chunk(4, dim=-1)
        memory = torch.sigmoid(forget_gate) * memory + torch.sigmoid(in_gate) * torch.tanh(candidate)
        hidden = torch.sigmoid(out_gate) * torch.tanh(memory)
        return (hidden, memory), hidden.clone()  # what a scan carries and what it collects must not be one tensor

    def gru_step(hidden: torch.Tensor, from_input: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return h of one GRU step twice: as the next state and to collect; `from_input` is W x + b (B, 3h)."""
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
