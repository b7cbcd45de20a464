"""The steps of a Beta-LSTM in operations that torch traces and differentiates itself.

For `torch.compile` they are unrolled, for `torch.export` they are a scan, which keeps any length. Arguments and results
are those of `run_recurrent_steps`, which is faster where nothing is traced.
"""

import torch
from torch.nn import functional as F

from .ops_beta_lstm_gates import (
    CELLS,
    Gating,
    compute_gates,
    draw_gammas,
    shapes_from_preactivations,
    split_input_forget,
)

Steps = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _run_step(
    hidden: torch.Tensor,
    memory: torch.Tensor,
    inputs: torch.Tensor,
    weight: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
) -> Steps:
    """Return h, c and the pre-activations of the gates of one step, in operations that torch differentiates itself."""
    cell = CELLS[gating.cell]
    preactivations = inputs + F.linear(hidden, weight).view(inputs.shape)  # (B, G, H)
    gates = preactivations[:, : cell.blocks]  # (B, K, H)
    if gating.draw_gammas:
        noise = draw_gammas(shapes_from_preactivations(gates, gating.eps), gating.generator)
    pair = compute_gates(gating.cell, gates, gating.eps, noise)
    write, keep = split_input_forget(pair, cell)
    # The last two blocks are o and g.
    memory = keep * memory + write * torch.tanh(preactivations[:, -1])
    hidden = torch.sigmoid(preactivations[:, -2]) * torch.tanh(memory)
    return hidden if scale is None else hidden * scale, memory, gates


def run_unrolled_steps(
    inputs: torch.Tensor,
    weight: torch.Tensor,
    hidden: torch.Tensor,
    memory: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
) -> Steps:
    """Run all steps in a Python loop that torch traces, and return states, memories and gates.

    Return states, memories and gates.
    """
    length, batch, _, size = inputs.shape
    if length == 0:
        empty = inputs.new_zeros(0, batch, size)
        return empty, empty, inputs[:, :, : CELLS[gating.cell].blocks]
    results = []
    for step in range(length):
        step_inputs = (None if each is None else each[step] for each in (noise, scale))
        results.append(_run_step(hidden, memory, inputs[step], weight, gating, *step_inputs))
        hidden, memory = results[-1][:2]
    states, memories, gates = (torch.stack(values) for values in zip(*results, strict=True))
    return states, memories, gates


def run_scan(
    inputs: torch.Tensor,
    weight: torch.Tensor,
    hidden: torch.Tensor,
    memory: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
) -> Steps:
    """Run all steps as a scan, for values alone: with torch 2.11 its gradients are wrong."""
    # The import stands here because only an export needs it, and it is not yet one of torch's public names.
    from torch._higher_order_ops.scan import scan

    # A scan runs over tensors alone, so what is None stays out.
    scan_inputs = {"inputs": inputs} | {
        name: value for name, value in (("noise", noise), ("scale", scale)) if value is not None
    }

    def step(
        state: tuple[torch.Tensor, torch.Tensor], at_step: dict[str, torch.Tensor]
    ) -> tuple[tuple[torch.Tensor, torch.Tensor], Steps]:
        """Return (h, c) of one step as the next state, and what the scan collects: h, c and the gates."""
        hidden, memory, gates = _run_step(
            *state, at_step["inputs"], weight, gating, at_step.get("noise"), at_step.get("scale")
        )
        # What a scan carries and what it collects must not be one tensor.
        return (hidden, memory), (hidden.clone(), memory.clone(), gates.clone())

    # Nor may the two that it starts with be parts of one tensor.
    steps: Steps = scan(step, (hidden.clone(), memory.clone()), scan_inputs)[1]
    return steps
