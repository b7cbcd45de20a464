"""One step of the Beta-LSTM between its products, forward and backward: operations of torch, on any device."""

from collections.abc import Callable

import torch

from .ops_beta_lstm_gates import (
    CELLS,
    Gating,
    compute_gates,
    draw_gammas,
    shapes_from_preactivations,
    split_input_forget,
)

PIECE = 2**16  # pre-activations whose slopes are computed at once: what stays in a processor's cache


def make_forward_step(
    blocks: torch.Tensor,
    states: torch.Tensor,
    memories: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
    draws: torch.Tensor | None,
) -> Callable[[int], None]:
    """Return the function that computes h and c of a step, in place, from its pre-activations.

    Args:
        blocks: (n, B, G, H) pre-activations of all gates.
        states, memories: (n + 1, B, H) states h and memory cells c, the initial ones first.
        gating, noise, scale: Kind of gates, noise and state factors, as in `ops_beta_lstm_steps.run_recurrent_steps`.
        draws: Buffer (n, B, K, H) for the K Gamma draws of each step, sequence and unit, which the backward pass reads;
            None: draws are not stored.
    """
    cell = CELLS[gating.cell]
    # Views of every step at once: an index costs as much as a small operation.
    grad_gates = blocks[:, :, : cell.blocks].unbind(0)
    outputs, candidates = blocks[:, :, -2].unbind(0), blocks[:, :, -1].unbind(0)
    every_state, every_memory = states.unbind(0), memories.unbind(0)
    matrix = cell.matrix(blocks).expand(blocks.size(1), -1, -1) if cell.has_gamma_gates else None  # (B, 4, K)

    def run_forward_step(step: int) -> None:
        """Write h and c of `step` into the state tensors."""
        if matrix is not None:
            weights = shapes_from_preactivations(grad_gates[step], gating.eps)
            if gating.draw_gammas:
                weights = draw_gammas(weights, gating.generator)
                if draws is not None:
                    draws[step] = weights
                weights = weights + gating.eps
            # One product with zeros and ones makes the numerators and denominators of both gates.
            sums = torch.bmm(matrix, weights)  # (B, 4, H)
            write, keep = (sums[:, :2] / sums[:, 2:]).unbind(1)
        else:
            pair = compute_gates(gating.cell, grad_gates[step], gating.eps, None if noise is None else noise[step])
            write, keep = split_input_forget(pair, cell)
        write = write * torch.tanh(candidates[step])
        # c_t = f c_(t-1) + i tanh(g), written into its place.
        torch.addcmul(write, keep, every_memory[step], out=every_memory[step + 1])
        squashed = torch.tanh(every_memory[step + 1])
        torch.mul(torch.sigmoid(outputs[step]), squashed, out=every_state[step + 1])
        if scale is not None:
            every_state[step + 1].mul_(scale[step])

    return run_forward_step


def make_backward_step(
    blocks: torch.Tensor,
    memories: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
    grad_memories: torch.Tensor | None,
    grad_gates: torch.Tensor | None,
    slopes: torch.Tensor,
) -> Callable[[int, torch.Tensor, torch.Tensor], None]:
    """Return the function that computes the gradients of a step from those of the next step.

    It is called with the step and the gradients of h_t and, by way of c_{t+1}, of c_t, both (B, H). It writes the
    gradient of the pre-activations into `slopes`, and turns that of c_t into that of c_{t-1}.

    Args:
        blocks, memories, gating, scale: Pre-activations, memory cells, kind of gates and state factors, as in
            `make_forward_step`.
        noise: Random variables from which gates were computed, see `compute_gates`.
        grad_memories: (n, B, H) gradients of the memory cells c_t from outside the recurrence, or None.
        grad_gates: (n, B, K, H) gradients of the gates' pre-activations from outside the recurrence, or None.
        slopes: Buffer (n, B, G, H) for gradients of the pre-activations.
    """
    output_slopes, to_memory, keep = write_derivatives(slopes, blocks, memories, noise, scale, gating)
    step_slopes, output_grads, num_blocks = slopes.unbind(0), slopes[:, :, -2].unbind(0), CELLS[gating.cell].blocks
    every_output, every_memory, every_keep = output_slopes.unbind(0), to_memory.unbind(0), keep.unbind(0)

    def run_backward_step(step: int, grad_hidden: torch.Tensor, grad_memory: torch.Tensor) -> None:
        """Write the pre-activations' gradient at `step`, and update that of c in place."""
        grad_memory.addcmul_(grad_hidden, every_memory[step])
        if grad_memories is not None:
            grad_memory += grad_memories[step]
        # c_t depends on every block but that of o, whose place the line after this fills.
        step_slopes[step].mul_(grad_memory.unsqueeze(1))
        torch.mul(every_output[step], grad_hidden, out=output_grads[step])
        if grad_gates is not None:
            step_slopes[step][:, :num_blocks] += grad_gates[step]
        grad_memory.mul_(every_keep[step])

    return run_backward_step


@torch.no_grad()
def write_derivatives(
    slopes: torch.Tensor,
    blocks: torch.Tensor,
    memories: torch.Tensor,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
    gating: Gating,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Write into `slopes`, for all steps at once, the local derivatives that the backward pass multiplies step by step.

    What a step's gradient needs beside the gradient itself is computed in the same way for every cell: c_t is linear in
    i and f, so that a backward pass through the gates, with tanh(g) and c_{t-1} for their gradients, gives what the
    gradient of c_t is multiplied by. So the derivatives of Gamma draws, which cost most, are one call for many steps.

    Args:
        slopes: Buffer (n, B, G, H) for the derivatives of c_t by the pre-activations; the block of gate o is not
            written.

    Returns:
        Those of h_t by the block of o and by c_t, (n, B, H) both; and f, the derivative of c_t by c_{t-1}.
    """
    cell, (length, batch, _, size) = CELLS[gating.cell], blocks.shape
    output_slopes, to_memory, keep = (blocks.new_empty(length, batch, size) for _ in range(3))
    # On a CPU pieces that stay in its cache, elsewhere all steps at once.
    several = max(1, PIECE // max(1, batch * cell.blocks * size)) if blocks.device.type == "cpu" else length
    for first in range(0, length, several):
        part = slice(first, first + several)
        candidate, squashed = torch.tanh(blocks[part, :, -1]), torch.tanh(memories[1:][part])  # tanh g, tanh c_t
        factors = (candidate, memories[:-1][part])  # of i and of f in c_t
        gates, noise_here = blocks[part, :, : cell.blocks], None if noise is None else noise[part]
        if cell.has_gamma_gates:
            pair, grad_gates = _compute_gamma_derivatives(gates, torch.stack(factors, dim=2), noise_here, gating)
            write, keep[part] = pair.unbind(2)
        else:
            with torch.enable_grad():
                gates = gates.detach().requires_grad_()
                write, kept = split_input_forget(compute_gates(gating.cell, gates, gating.eps, noise_here), cell)
            (grad_gates,) = torch.autograd.grad((write, kept), gates, factors)
            keep[part] = kept.detach()
        slopes[part, :, : cell.blocks] = grad_gates
        slopes[part, :, -1] = write.detach() * (1 - candidate * candidate)
        output = torch.sigmoid(blocks[part, :, -2])
        # h = sigmoid(o) tanh(c): its derivatives by the block of o and by c.
        torch.mul(squashed, output * (1 - output), out=output_slopes[part])
        torch.mul(output, 1 - squashed * squashed, out=to_memory[part])
    if scale is not None:
        output_slopes, to_memory = output_slopes * scale, to_memory * scale
    return output_slopes, to_memory, keep


def _compute_gamma_derivatives(
    gates: torch.Tensor, factors: torch.Tensor, draws: torch.Tensor | None, gating: Gating
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return i and f, (n, B, 2, H), and the derivative of their products with `factors` by the pre-activations."""
    matrix, alpha = CELLS[gating.cell].matrix(gates), shapes_from_preactivations(gates, gating.eps)
    sums = torch.matmul(matrix, alpha if draws is None else draws + gating.eps)  # (n, B, 4, H)
    above, below = sums[:, :, :2], sums[:, :, 2:]
    pair = above / below
    grad_above = factors / below
    # Of A / D times g: g / D for A and -g (A / D) / D for D; the transposed matrix hands both to the blocks.
    slopes = torch.matmul(matrix.t(), torch.cat([grad_above, -grad_above * pair], dim=2))
    slopes *= torch.sigmoid(gates)  # the derivative of softplus
    if draws is not None:
        slopes *= torch._standard_gamma_grad(alpha, draws)
    return pair, slopes
