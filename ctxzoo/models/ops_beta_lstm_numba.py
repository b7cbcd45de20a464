"""One step of the Beta-LSTM between its products, forward and backward, on a CPU: calls of compiled loops.

A step of torch's operations is two dozen passes over small tensors, each of which takes longer to start than to do.
Here it is one call of `ops_beta_lstm_loops`, on one thread. Importing this file needs Numba, which is optional.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from .ops_beta_lstm_gates import CELLS, SIGMOID_TEMPERATURE, Gating
from .ops_beta_lstm_loops import (
    BETA,
    BIBETA3,
    BIBETA5,
    COUPLED,
    KUMARASWAMY,
    LIKE_LSTM,
    PER_UNIT,
    SHAPES,
    VALUES,
    backward_step_loop,
    forward_step_loop,
)
from .ops_beta_lstm_plain import make_backward_step as plain_backward_steps
from .ops_compiled_math import f32, u64

KINDS = {
    "lstm": LIKE_LSTM,
    "g2": LIKE_LSTM,
    "noisin": LIKE_LSTM,
    "coupled": COUPLED,
    "kumaraswamy": KUMARASWAMY,
    "beta": BETA,
    "bibeta3": BIBETA3,
    "bibeta5": BIBETA5,
}


def can_run(x: torch.Tensor, gating: Gating, noise: torch.Tensor | None) -> bool:
    """Return whether the loops can run a cell on x.

    They need numbers in memory, which a fake tensor has not, a CPU and float32. The means of Kumaraswamy variables,
    which only an evaluation takes, are not written out, and a generator of a caller's own has torch's draws.
    """
    if type(x) is not torch.Tensor or x.device.type != "cpu" or x.dtype != torch.float32 or x.numel() == 0:
        return False
    return gating.generator is None and not (gating.cell == "kumaraswamy" and noise is None)


def make_forward_step(
    blocks: torch.Tensor,
    states: torch.Tensor,
    memories: torch.Tensor,
    gating: Gating,
    noise: torch.Tensor | None,
    scale: torch.Tensor | None,
    draws: torch.Tensor | None,
) -> Callable[[int], None]:
    """Return the function that computes a step by compiled loops; see `ops_beta_lstm_plain.make_forward_step`."""
    # Arrays share the memory of tensors: the loops write states, memories and draws.
    tensors: tuple[Any, ...] = (
        *(x.numpy() for x in (blocks, states, memories)),
        *_to_numpy_arrays((noise, 4), (scale, 3), (draws, 4)),
    )
    options: tuple[Any, ...] = gating.draw_gammas, draws is not None, f32(gating.eps), _get_temperature(gating)
    # A seed of torch's generator, so that torch.manual_seed decides about the draws.
    seed = u64(torch.randint(2**62, ()).item() if gating.draw_gammas else 0)
    kind = KINDS[gating.cell]

    def run_forward_step(step: int) -> None:
        """Write h and c of `step` into the state tensors."""
        forward_step_loop(kind, *tensors, step, *options, seed)

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
    """Return the function that differentiates a step; see `ops_beta_lstm_plain.make_backward_step`."""
    # What Gamma gates were drawn from are the draws themselves.
    draws, noise = (noise, None) if gating.draw_gammas else (None, noise)
    # Outside the table the derivatives are torch's, for the whole sequence.
    if draws is not None and not _is_covered_by_table(blocks[:, :, : CELLS[gating.cell].blocks], draws, gating.eps):
        return plain_backward_steps(blocks, memories, gating, draws, scale, grad_memories, grad_gates, slopes)
    table, columns = build_gamma_derivative_table()
    before: tuple[Any, ...] = blocks.numpy(), memories.numpy(), *_to_numpy_arrays((noise, 4), (scale, 3), (draws, 4))
    after: tuple[Any, ...] = (
        *_to_numpy_arrays((grad_memories, 3), (grad_gates, 4)),
        slopes.numpy(),
        table.numpy(),
        columns,
    )
    options: tuple[Any, ...] = draws is not None, f32(gating.eps), _get_temperature(gating)
    kind = KINDS[gating.cell]

    def run_backward_step(step: int, grad_hidden: torch.Tensor, grad_memory: torch.Tensor) -> None:
        """Write the pre-activations' gradient at `step`, and update that of c in place."""
        backward_step_loop(kind, *before, grad_hidden.numpy(), grad_memory.numpy(), *after, step, *options)

    return run_backward_step


@cache
def build_gamma_derivative_table() -> tuple[torch.Tensor, int]:
    """Return a table, flattened, for the derivative of Gamma draws by their shape, and the length of its rows.

    The table holds y(ln alpha, ln U), of which dU/dalpha = (y - ln U) U / alpha.

    y becomes digamma(alpha + 1) where U goes to 0, and is smooth elsewhere, so that straight lines join its values.
    """
    # One more at each end: a value on the border has neighbours.
    shapes, values = (
        (torch.arange((end - start) * PER_UNIT + 2, dtype=torch.float64) / PER_UNIT + start).exp()
        for start, end in (SHAPES, VALUES)
    )
    alpha, draws = torch.meshgrid(shapes, values, indexing="ij")  # ln alpha down, ln U across
    entries = torch._standard_gamma_grad(alpha, draws) * alpha / draws + draws.log()
    return entries.float().flatten(), len(values)


def _is_covered_by_table(gates: torch.Tensor, draws: torch.Tensor, eps: float) -> bool:
    """Return whether all shapes and draws lie within the table of derivatives; NaN does not."""
    highest = float(gates.amax()) + 1  # above softplus(u) + eps, where u is above 0
    # No shape is below eps, so that ln eps is the lowest row.
    return math.log(eps) > SHAPES[0] and highest < math.exp(SHAPES[1]) and float(draws.amax()) < math.exp(VALUES[1])


def _get_temperature(gating: Gating) -> Any:
    """Return the number by which the sigmoid's argument is divided: that of the cell "g2", otherwise 1."""
    return f32(SIGMOID_TEMPERATURE if gating.cell == "g2" else 1.0)


def _to_numpy_arrays(*tensors: tuple[torch.Tensor | None, int]) -> tuple[Any, ...]:
    """Return a numpy array for each pair of a tensor and its number of dimensions; an empty one in place of None."""
    return tuple(
        torch.empty((0,) * dimensions).numpy() if tensor is None else tensor.contiguous().numpy()
        for tensor, dimensions in tensors
    )
