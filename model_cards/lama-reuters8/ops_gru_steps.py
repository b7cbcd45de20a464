"""Steps of several GRUs side by side on the CPU, faster in training than torch's (benchmarks/document_attention.py).

torch.gru notes for every step a dozen operations for the backward pass. Here the whole recurrence is one operation: all
that a step's gradient needs beside the gradient itself is computed for all steps at once, and the gradient of the
weights is one product.
"""

from typing import Any

import torch


def gru_steps(inputs: torch.Tensor, weight_hh: torch.Tensor, bias_hh: torch.Tensor) -> torch.Tensor:
    """States of G GRUs from zero states, gates in the order of `nn.GRU`: reset, update, new.

    r = sigmoid(i_r + W_r h + b_r), z = sigmoid(i_z + W_z h + b_z), n = tanh(i_n + r * (W_n h + b_n)),
    h <- (1 - z) * n + z * h; computed in float32 or wider.

    Args:
        inputs: (G, n, B, 3h), i: what each step adds to the gates, W_ih x + b_ih.
        weight_hh: (G, 3h, h).
        bias_hh: (G, 3h).

    Returns:
        (G, n, B, h), in the type of `inputs`.
    """
    wide = torch.promote_types(inputs.dtype, torch.float32)
    arguments = (inputs.to(wide), weight_hh.to(wide), bias_hh.to(wide))
    trained = torch.is_grad_enabled() and any(value.requires_grad for value in arguments)
    with torch.autocast(inputs.device.type, enabled=False):
        states: torch.Tensor = _GruSteps.apply(*arguments, trained)  # type: ignore[no-untyped-call]
    return states.to(inputs.dtype)


class _GruSteps(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, trained: bool
    ) -> torch.Tensor:
        groups, length, batch, _ = inputs.shape
        size = weight.size(2)
        states = inputs.new_empty(groups, length, batch, size)
        kept = length if trained else 1  # steps; without gradients each overwrites the one before
        gates = inputs.new_empty(groups, kept, batch, 2 * size)  # r and z
        new = inputs.new_empty(groups, kept, batch, size)  # n
        recurrent_new = torch.empty_like(new)  # W_n h + b_n
        state = inputs.new_zeros(groups, batch, size)
        transposed, rows = weight.transpose(1, 2), bias.unsqueeze(1)
        for step in range(length):
            recurrent = torch.baddbmm(rows, state, transposed)
            given, here = inputs[:, step], gates[:, step % kept]
            torch.add(given[..., : 2 * size], recurrent[..., : 2 * size], out=here).sigmoid_()
            recurrent_new[:, step % kept] = recurrent[..., 2 * size :]
            candidate = new[:, step % kept]
            torch.addcmul(given[..., 2 * size :], here[..., :size], recurrent[..., 2 * size :], out=candidate).tanh_()
            state = torch.lerp(candidate, state, here[..., size:], out=states[:, step])
        ctx.save_for_backward(weight, states, gates, new, recurrent_new)
        return states

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, None]:
        weight, states, gates, new, recurrent_new = ctx.saved_tensors
        groups, length, batch, size = states.shape
        reset, update = gates.chunk(2, dim=3)
        before = torch.cat([states.new_zeros(groups, 1, batch, size), states], dim=1)[:, :length]
        to_new = (1 - update) * (1 - new * new)
        # What the gradient of a state is multiplied with to give those of W h + b.
        slopes = torch.stack(
            [to_new * recurrent_new * reset * (1 - reset), (before - new) * update * (1 - update), to_new * reset],
            dim=3,
        )  # (G, n, B, 3, h)
        of_recurrent, of_states = torch.empty_like(slopes), torch.empty_like(states)
        if length:
            of_states[:, -1] = gradient[:, -1]
        for step in range(length - 1, -1, -1):
            here = of_states[:, step]
            products = torch.mul(slopes[:, step], here.unsqueeze(2), out=of_recurrent[:, step])
            if step:
                earlier = of_states[:, step - 1]
                torch.addcmul(gradient[:, step - 1], here, update[:, step], out=earlier)
                earlier.baddbmm_(products.flatten(2), weight)
        flat = of_recurrent.reshape(groups, length * batch, 3 * size)
        of_weight = flat.transpose(1, 2) @ before.reshape(groups, length * batch, size)
        of_inputs = torch.cat([of_recurrent[:, :, :, :2].flatten(3), of_states * to_new], dim=3)
        return of_inputs, of_weight, flat.sum(dim=1), None


def reference_gru_steps(inputs: torch.Tensor, weight_hh: torch.Tensor, bias_hh: torch.Tensor) -> torch.Tensor:
    """The same in float64, one GRU and one step after the other."""
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
