"""The recurrence of the Beta-LSTM and of the cells beside it: all steps of one layer and direction.

With a_t = W_ih x_t + b + W_hh h_{t-1} and gates i, f of its first K blocks (`ops_beta_lstm_gates`), a step is

    c_t = f * c_{t-1} + i * tanh(g) ;   h_t = sigmoid(o) * tanh(c_t)

`recurrent_steps` runs it as one operation of the graph, on any device. What a step's gradient needs beside the gradient
itself is computed for all steps at once, in the same way for every cell: c_t is linear in i and f, so that one backward
pass through the gates of all steps, with tanh(g) and c_{t-1} for their gradients, gives what the gradient of c_t is
multiplied by. The derivatives of Gamma draws, the costliest part, are then one call for the whole sequence.

For `torch.compile` the steps are unrolled, for `torch.export` they are a scan, which keeps any length.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F

from .ops_beta_lstm_gates import (
    CELLS,
    differentiable_draws,
    distribution_parameters,
    draw_gammas,
    gate_pair,
    is_exporting,
)

Steps = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Gating:
    """How the gates of all steps are made.

    Attributes:
        cell: name of the cell.
        eps: see `distribution_parameters`.
        draw_gammas: Gamma variables are drawn, not replaced by their means.
        generator: of these draws; None: torch's own.
    """

    cell: str
    eps: float
    draw_gammas: bool = False
    generator: torch.Generator | None = None


def recurrent_steps(
    inputs: torch.Tensor,
    weight_hh: torch.Tensor,
    hidden: torch.Tensor,
    memory: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None = None,
    scale: torch.Tensor | None = None,
) -> Steps:
    """Run a layer over a sequence.

    Args:
        inputs: (n, B, G, H) W_ih x + b, float32 or wider; G = K + 2, the blocks of o and g are the last.
        weight_hh: (G H, H).
        hidden, memory: (B, H) h_0 and c_0.
        gating: how i and f are made.
        noise: (n, ...) what gates are drawn from, where that does not depend on the sequence; see `gate_pair`.
        scale: (n, B, H) that states are multiplied by, or None.

    Returns:
        h and c of each step, (n, B, H) both, and the pre-activations of the gates, (n, B, K, H).
    """
    if is_exporting():
        return _scanned_steps(inputs, weight_hh, hidden, memory, gating, noise, scale)
    if torch.compiler.is_compiling():
        return _unrolled_steps(inputs, weight_hh, hidden, memory, gating, noise, scale)
    steps: Steps = _Steps.apply(inputs, weight_hh, hidden, memory, gating, noise, scale)  # type: ignore[no-untyped-call]
    return steps


class _Steps(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: torch.Tensor,
        weight: torch.Tensor,
        hidden: torch.Tensor,
        memory: torch.Tensor,
        gating: Gating,
        noise: torch.Tensor | None,
        scale: torch.Tensor | None,
    ) -> Steps:
        length, batch, count, size = inputs.shape
        cell = CELLS[gating.cell]
        blocks = torch.empty_like(inputs)
        states = inputs.new_empty(length + 1, batch, size)
        memories = torch.empty_like(states)
        states[0], memories[0] = hidden, memory
        drawn: list[torch.Tensor] = []
        transposed = weight.t()
        for step in range(length):
            here = blocks[step]
            torch.addmm(inputs[step].flatten(1), states[step], transposed, out=here.view(batch, count * size))
            gates = here[:, : cell.blocks]
            if gating.draw_gammas:
                drawn.append(draw_gammas(distribution_parameters(gates, gating.eps), gating.generator))
                pair = gate_pair(gating.cell, gates, gating.eps, drawn[-1])
            else:
                pair = gate_pair(gating.cell, gates, gating.eps, None if noise is None else noise[step])
            write, keep = pair.unbind(1) if cell.input_first else pair.flip(1).unbind(1)
            write = write * torch.tanh(here[:, -1])
            kept = torch.addcmul(write, keep, memories[step], out=memories[step + 1])
            torch.mul(torch.sigmoid(here[:, -2]), torch.tanh(kept), out=states[step + 1])
            if scale is not None:
                states[step + 1] *= scale[step]
        if gating.draw_gammas:
            noise = torch.stack(drawn) if drawn else blocks[:, :, : cell.blocks]
        ctx.set_materialize_grads(False)
        ctx.gating = gating
        ctx.save_for_backward(weight, blocks, states, memories, noise, scale)
        return states[1:], memories[1:], blocks[:, :, : cell.blocks]

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(
        ctx: Any, of_states: torch.Tensor | None, of_memories: torch.Tensor | None, of_gates: torch.Tensor | None
    ) -> tuple[torch.Tensor | None, ...]:
        weight, blocks, states, memories, noise, scale = ctx.saved_tensors
        cell, (length, batch, count, size) = CELLS[ctx.gating.cell], blocks.shape
        slopes, output_slopes, to_memory, keep = _slopes(blocks, memories, noise, scale, ctx.gating)
        if of_states is None:
            of_states = states.new_zeros(length, batch, size)
        of_memory = states.new_zeros(batch, size)
        of_hidden = of_states[-1] if length else states.new_zeros(batch, size)
        for step in range(length - 1, -1, -1):
            of_memory.addcmul_(of_hidden, to_memory[step])
            if of_memories is not None:
                of_memory += of_memories[step]
            here = slopes[step]  # becomes the gradient of the pre-activations
            here.mul_(of_memory.unsqueeze(1))
            torch.mul(output_slopes[step], of_hidden, out=here[:, -2])
            if of_gates is not None:
                here[:, : cell.blocks] += of_gates[step]
            flat = here.view(batch, count * size)
            of_hidden = torch.addmm(of_states[step - 1], flat, weight) if step else flat @ weight
            of_memory.mul_(keep[step])
        of_weight = slopes.view(length * batch, count * size).t() @ states[:-1].reshape(length * batch, size)
        return slopes, of_weight, of_hidden, of_memory, None, None, None


@torch.no_grad()
def _slopes(
    blocks: torch.Tensor,
    memories: torch.Tensor,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
    gating: Gating,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return, for all steps, the derivatives that a backward pass is made of.

    Returns:
        Derivatives of c_t by the pre-activations, (n, B, G, H), with nothing of use in the block of o; of h_t by that
        block and by c_t, (n, B, H) both; and f, the derivative of c_t by c_{t-1}.
    """
    cell = CELLS[gating.cell]
    candidate, before = torch.tanh(blocks[:, :, -1]), memories[:-1]
    output, squashed = torch.sigmoid(blocks[:, :, -2]), torch.tanh(memories[1:])
    with torch.enable_grad():
        gates = blocks[:, :, : cell.blocks].detach().requires_grad_()
        if gating.draw_gammas:
            assert noise is not None
            noise = differentiable_draws(distribution_parameters(gates, gating.eps), noise)
        pair = gate_pair(gating.cell, gates, gating.eps, noise)
    factors = (candidate, before) if cell.input_first else (before, candidate)
    slopes = torch.empty_like(blocks)
    (slopes[:, :, : cell.blocks],) = torch.autograd.grad(pair, gates, torch.stack(factors, dim=2))
    write, keep = pair.detach().unbind(2) if cell.input_first else pair.detach().flip(2).unbind(2)
    slopes[:, :, -1] = write * (1 - candidate * candidate)
    slopes[:, :, -2] = 0
    output_slopes, to_memory = squashed * output * (1 - output), output * (1 - squashed * squashed)
    if scale is not None:
        output_slopes, to_memory = output_slopes * scale, to_memory * scale
    return slopes, output_slopes, to_memory, keep


def _step(
    hidden: torch.Tensor,
    memory: torch.Tensor,
    given: torch.Tensor,
    weight: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
) -> Steps:
    """Return h, c and the pre-activations of the gates of one step, in operations that torch differentiates itself."""
    cell = CELLS[gating.cell]
    here = given + F.linear(hidden, weight).view(given.shape)
    gates = here[:, : cell.blocks]
    if gating.draw_gammas:
        noise = draw_gammas(distribution_parameters(gates, gating.eps), gating.generator)
    pair = gate_pair(gating.cell, gates, gating.eps, noise)
    write, keep = (pair[:, 0], pair[:, 1]) if cell.input_first else (pair[:, 1], pair[:, 0])
    memory = keep * memory + write * torch.tanh(here[:, -1])
    hidden = torch.sigmoid(here[:, -2]) * torch.tanh(memory)
    return hidden if scale is None else hidden * scale, memory, gates


def _unrolled_steps(
    inputs: torch.Tensor,
    weight: torch.Tensor,
    hidden: torch.Tensor,
    memory: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
) -> Steps:
    length, batch, _, size = inputs.shape
    if length == 0:
        empty = inputs.new_zeros(0, batch, size)
        return empty, empty, inputs[:, :, : CELLS[gating.cell].blocks]
    kept = []
    for step in range(length):
        of_step = (None if each is None else each[step] for each in (noise, scale))
        kept.append(_step(hidden, memory, inputs[step], weight, gating, *of_step))
        hidden, memory = kept[-1][:2]
    states, memories, gates = (torch.stack(values) for values in zip(*kept, strict=True))
    return states, memories, gates


def _scanned_steps(
    inputs: torch.Tensor,
    weight: torch.Tensor,
    hidden: torch.Tensor,
    memory: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
) -> Steps:
    # The import stands here because only an export needs it, and it is not yet one of torch's public names.
    from torch._higher_order_ops.scan import scan

    given = {"inputs": inputs} | {
        name: value for name, value in (("noise", noise), ("scale", scale)) if value is not None
    }

    def step(
        state: tuple[torch.Tensor, torch.Tensor], at_step: dict[str, torch.Tensor]
    ) -> tuple[tuple[torch.Tensor, torch.Tensor], Steps]:
        hidden, memory, gates = _step(
            *state, at_step["inputs"], weight, gating, at_step.get("noise"), at_step.get("scale")
        )
        # What a scan carries and what it collects must not be one tensor.
        return (hidden, memory), (hidden.clone(), memory.clone(), gates.clone())

    steps: Steps = scan(step, (hidden, memory), given)[1]
    return steps
