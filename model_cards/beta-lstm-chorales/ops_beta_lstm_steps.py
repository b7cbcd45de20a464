"""The recurrence of the Beta-LSTM and of the cells beside it: all steps of one layer and direction.

With a_t = W_ih x_t + b + W_hh h_{t-1} and gates i, f of its first K blocks (`ops_beta_lstm_gates`), a step is

    c_t = f * c_{t-1} + i * tanh(g) ;   h_t = sigmoid(o) * tanh(c_t)

`recurrent_steps` runs it as one operation of the graph, on any device. What a step's gradient needs beside the gradient
itself is computed for many steps at once, in the same way for every cell: c_t is linear in i and f, so that a backward
pass through the gates, with tanh(g) and c_{t-1} for their gradients, gives what the gradient of c_t is multiplied by.
So the derivatives of Gamma draws, which cost most, are one call for many steps.

On a GPU the operations of a step beside the product are one kernel (`ops_beta_lstm_triton`). Programs that torch traces
have the steps of `ops_beta_lstm_traced`.
"""

from collections.abc import Callable
from typing import Any

import torch

from .ops_beta_lstm_gamma import GammaSampler, gamma_slope
from .ops_beta_lstm_gates import CELLS, Gating, distribution_parameters, gate_pair, in_order, is_exporting
from .ops_beta_lstm_traced import Steps, scanned_steps, unrolled_steps
from .ops_beta_lstm_triton import available, backward_step, forward_step, new_seed

PIECE = 2**16  # pre-activations whose slopes are computed at once: what stays in a processor's cache


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
        return scanned_steps(inputs, weight_hh, hidden, memory, gating, noise, scale)
    if torch.compiler.is_compiling():
        return unrolled_steps(inputs, weight_hh, hidden, memory, gating, noise, scale)
    trained = torch.is_grad_enabled() and any(x.requires_grad for x in (inputs, weight_hh, hidden, memory))
    steps: Steps = _Steps.apply(  # type: ignore[no-untyped-call]
        inputs, weight_hh, hidden, memory, gating, noise, scale, trained
    )
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
        trained: bool,
    ) -> Steps:
        length, batch, _, size = inputs.shape
        cell = CELLS[gating.cell]
        blocks = inputs.clone(memory_format=torch.contiguous_format)
        states = inputs.new_empty(length + 1, batch, size)
        memories = torch.empty_like(states)
        states[0], memories[0] = hidden, memory
        draws = torch.empty_like(blocks[:, :, : cell.blocks]) if trained and gating.draw_gammas else None
        make = _fused_steps if available(inputs, gating, noise) else _plain_steps
        advance = make(blocks, states, memories, gating, noise, scale, draws)
        rows, every_state, transposed = blocks.flatten(2).unbind(0), states.unbind(0), weight.t()
        for step in range(length):
            rows[step].addmm_(every_state[step], transposed)
            advance(step)
        if trained:
            ctx.set_materialize_grads(False)
            ctx.gating = gating
            ctx.save_for_backward(weight, blocks, states, memories, noise if draws is None else draws, scale)
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
        every, flat = slopes.unbind(0), slopes.view(length, batch, count * size).unbind(0)
        of_outputs, of_every_state = slopes[:, :, -2].unbind(0), of_states.unbind(0)
        every_output, every_memory, every_keep = output_slopes.unbind(0), to_memory.unbind(0), keep.unbind(0)
        is_fused = available(blocks, ctx.gating, noise)
        for step in range(length - 1, -1, -1):  # slopes become the gradient of the pre-activations
            at_step = (None if given is None else given[step] for given in (of_memories, of_gates))
            if is_fused:
                backward_step(
                    of_hidden,
                    of_memory,
                    every[step],
                    every_output[step],
                    every_memory[step],
                    every_keep[step],
                    *at_step,
                )
            else:
                also_of_memory, also_of_gates = at_step
                of_memory.addcmul_(of_hidden, every_memory[step])
                if also_of_memory is not None:
                    of_memory += also_of_memory
                every[step].mul_(of_memory.unsqueeze(1))
                torch.mul(every_output[step], of_hidden, out=of_outputs[step])
                if also_of_gates is not None:
                    every[step][:, : cell.blocks] += also_of_gates
                of_memory.mul_(every_keep[step])
            of_hidden = torch.addmm(of_every_state[step - 1], flat[step], weight) if step else flat[step] @ weight
        of_weight = slopes.view(length * batch, count * size).t() @ states[:-1].reshape(length * batch, size)
        return slopes, of_weight, of_hidden, of_memory, None, None, None, None


def _plain_steps(
    blocks: torch.Tensor,
    states: torch.Tensor,
    memories: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
    draws: torch.Tensor | None,
) -> Callable[[int], None]:
    """Return what makes h and c of a step, which it writes, of its pre-activations and the step before.

    Args:
        blocks: (n, B, G, H) all pre-activations.
        states, memories: (n + 1, B, H), the initial ones first.
        gating, noise, scale: see `recurrent_steps`.
        draws: (n, B, K, H) into which Gamma draws are written, where they are needed again.
    """
    cell = CELLS[gating.cell]
    # Views of every step at once: an index costs as much as a small operation.
    of_gates = blocks[:, :, : cell.blocks].unbind(0)
    outputs, candidates = blocks[:, :, -2].unbind(0), blocks[:, :, -1].unbind(0)
    every_state, every_memory = states.unbind(0), memories.unbind(0)
    matrix = cell.matrix(blocks).expand(blocks.size(1), -1, -1) if cell.gammas else None
    sample = GammaSampler(len(of_gates), of_gates[0], gating.generator) if gating.draw_gammas and of_gates else None

    def advance(step: int) -> None:
        if matrix is not None:
            weights = distribution_parameters(of_gates[step], gating.eps)
            if sample is not None:
                weights = sample(weights)
                if draws is not None:
                    draws[step] = weights
                weights = weights + gating.eps
            sums = torch.bmm(matrix, weights)
            write, keep = (sums[:, :2] / sums[:, 2:]).unbind(1)
        else:
            pair = gate_pair(gating.cell, of_gates[step], gating.eps, None if noise is None else noise[step])
            write, keep = in_order(pair, cell)
        write = write * torch.tanh(candidates[step])
        torch.addcmul(write, keep, every_memory[step], out=every_memory[step + 1])
        squashed = torch.tanh(every_memory[step + 1])
        torch.mul(torch.sigmoid(outputs[step]), squashed, out=every_state[step + 1])
        if scale is not None:
            every_state[step + 1].mul_(scale[step])

    return advance


def _fused_steps(
    blocks: torch.Tensor,
    states: torch.Tensor,
    memories: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
    draws: torch.Tensor | None,
) -> Callable[[int], None]:
    """Return what does the same in one kernel; see `_plain_steps`."""
    every, every_state, every_memory = blocks.unbind(0), states.unbind(0), memories.unbind(0)
    seed = new_seed() if gating.draw_gammas else 0

    def advance(step: int) -> None:
        at_step = (None if given is None else given[step] for given in (noise, scale, draws))
        before, after = every_memory[step : step + 2]
        forward_step(every[step], before, after, every_state[step + 1], gating, seed + step, *at_step)

    return advance


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
    cell, (length, batch, _, size) = CELLS[gating.cell], blocks.shape
    slopes = torch.empty_like(blocks)
    output_slopes, to_memory, keep = (blocks.new_empty(length, batch, size) for _ in range(3))
    several = max(1, PIECE // max(1, batch * cell.blocks * size)) if blocks.device.type == "cpu" else length
    for first in range(0, length, several):
        part = slice(first, first + several)
        candidate, squashed = torch.tanh(blocks[part, :, -1]), torch.tanh(memories[1:][part])
        factors = (candidate, memories[:-1][part])  # of i and of f in c_t
        gates, noise_here = blocks[part, :, : cell.blocks], None if noise is None else noise[part]
        if cell.gammas:
            pair, of_gates = _gamma_slopes(gates, torch.stack(factors, dim=2), noise_here, gating)
            write, keep[part] = pair.unbind(2)
        else:
            with torch.enable_grad():
                gates = gates.detach().requires_grad_()
                write, kept = in_order(gate_pair(gating.cell, gates, gating.eps, noise_here), cell)
            (of_gates,) = torch.autograd.grad((write, kept), gates, factors)
            keep[part] = kept.detach()
        slopes[part, :, : cell.blocks] = of_gates
        slopes[part, :, -1] = write.detach() * (1 - candidate * candidate)
        output = torch.sigmoid(blocks[part, :, -2])
        torch.mul(squashed, output * (1 - output), out=output_slopes[part])
        torch.mul(output, 1 - squashed * squashed, out=to_memory[part])
    if scale is not None:
        output_slopes, to_memory = output_slopes * scale, to_memory * scale
    return slopes, output_slopes, to_memory, keep


def _gamma_slopes(
    gates: torch.Tensor, factors: torch.Tensor, draws: torch.Tensor | None, gating: Gating
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return i and f, (n, B, 2, H), and the derivative of their products with `factors` by the pre-activations."""
    matrix, alpha = CELLS[gating.cell].matrix(gates), distribution_parameters(gates, gating.eps)
    sums = torch.matmul(matrix, alpha if draws is None else draws + gating.eps)
    above, below = sums[:, :, :2], sums[:, :, 2:]
    pair = above / below
    of_above = factors / below
    slopes = torch.matmul(matrix.t(), torch.cat([of_above, -of_above * pair], dim=2))
    slopes *= torch.sigmoid(gates)  # the derivative of softplus
    if draws is not None:
        slopes *= gamma_slope(alpha, draws)
    return pair, slopes
