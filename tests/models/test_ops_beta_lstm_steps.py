"""The recurrence of the Beta-LSTM, its values and its gradients, against equations written out in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from ctxzoo.models.ops_beta_lstm_gates import CELLS, Gating, draw_log_uniform, draw_noisin_scale
from ctxzoo.models.ops_beta_lstm_steps import run_recurrent_steps
from ctxzoo.models.ops_beta_lstm_traced import Steps, run_scan, run_unrolled_steps
from tests.references.beta_lstm import reference_layer

STEPS, BATCH, WIDTH, SIZE = 5, 3, 4, 6
EPS = 1e-3

every_cell = pytest.mark.parametrize("cell", CELLS)


def weights_of(cell: str, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    rows = (CELLS[cell].blocks + 2) * SIZE
    shapes = ((rows, WIDTH), (rows, SIZE), (rows,))
    first, second, third = (
        torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes
    )
    return first, second, third


def inputs_of(x: torch.Tensor, weight_ih: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return (x @ weight_ih.T + bias).unflatten(2, (-1, SIZE))


def example(cell: str) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, ...]]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(STEPS, BATCH, WIDTH, generator=generator, dtype=torch.float64).requires_grad_()
    hidden, memory = (
        torch.randn(BATCH, SIZE, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(2)
    )
    return x, (hidden, memory), weights_of(cell)


@every_cell
@pytest.mark.parametrize("drawn", [False, True], ids=["means", "draws"])
@pytest.mark.parametrize("how", [run_recurrent_steps, run_unrolled_steps], ids=["fused", "unrolled"])
def test_values_and_gradients_are_those_of_the_equations(cell: str, drawn: bool, how: Callable[..., Steps]) -> None:
    x, state, weights = example(cell)
    weight_ih, weight_hh, bias = weights
    noise = scale = None
    if drawn and cell == "kumaraswamy":
        noise = draw_log_uniform((STEPS, BATCH, 2, SIZE), x.detach(), torch.Generator().manual_seed(2))
    if drawn and cell == "noisin":
        scale = draw_noisin_scale((STEPS, BATCH, SIZE), x.detach(), torch.Generator().manual_seed(2))
    gammas = drawn and CELLS[cell].has_gamma_gates
    torch.manual_seed(3)
    states, memories, gates = how(
        inputs_of(x, weight_ih, bias), weight_hh, *state, Gating(cell, EPS, gammas), noise, scale
    )
    torch.manual_seed(3)
    expected = reference_layer(cell, x, (weight_ih, weight_hh, bias), state, drawn=drawn, noise=noise, scale=scale)
    torch.testing.assert_close((states, memories), expected)
    assert gates.shape == (STEPS, BATCH, CELLS[cell].blocks, SIZE)
    generator = torch.Generator().manual_seed(4)
    factors = torch.randn(2, STEPS, BATCH, SIZE, generator=generator, dtype=torch.float64)
    inputs = (x, *state, *weights)
    ours = torch.autograd.grad((states * factors[0] + memories * factors[1]).sum(), inputs)
    theirs = torch.autograd.grad((expected[0] * factors[0] + expected[1] * factors[1]).sum(), inputs)
    torch.testing.assert_close(ours, theirs)


@every_cell
def test_gradients_through_the_preactivations_of_the_gates(cell: str) -> None:
    x, state, (weight_ih, weight_hh, bias) = example(cell)
    inputs = (x, *state, weight_ih, weight_hh, bias)
    found = []
    for how in (run_recurrent_steps, run_unrolled_steps):
        gates = how(inputs_of(x, weight_ih, bias), weight_hh, *state, Gating(cell, EPS), None, None)[2]
        found.append(torch.autograd.grad(gates.sigmoid().square().sum(), inputs))
    torch.testing.assert_close(found[0], found[1])


@every_cell
def test_a_scan_gives_the_same_steps(cell: str) -> None:
    x, state, (weight_ih, weight_hh, bias) = example(cell)
    with torch.no_grad():
        arguments = (inputs_of(x, weight_ih, bias), weight_hh, *state, Gating(cell, EPS), None, None)
        torch.testing.assert_close(run_scan(*arguments), run_recurrent_steps(*arguments))


def test_property_1_one_step_of_the_worked_example() -> None:
    alpha = torch.tensor([2, 1, 0.5, 1.5, 0.7], dtype=torch.float64)
    blocks = torch.cat([torch.log(torch.expm1(alpha - EPS)), torch.tensor([0.1, 0.3], dtype=torch.float64)])
    nothing = torch.zeros(7, 1, dtype=torch.float64)
    memory = torch.tensor([[0.4]], dtype=torch.float64)
    states, memories, _ = run_recurrent_steps(
        blocks.view(1, 1, 7, 1), nothing, torch.zeros_like(memory), memory, Gating("bibeta5", EPS)
    )
    assert memories.item() == pytest.approx(0.4252237875, abs=1e-9)
    assert states.item() == pytest.approx(0.2106857218, abs=1e-9)


@pytest.mark.parametrize("cell", ["beta", "bibeta3", "bibeta5"])
def test_property_7_drawn_memories_have_the_mean_of_one_step(cell: str) -> None:
    number, generator = 100_000, torch.Generator().manual_seed(5)
    one = 1.5 * torch.randn(1, 1, CELLS[cell].blocks + 2, 1, generator=generator, dtype=torch.float64)
    nothing = torch.zeros(one.size(2), 1, dtype=torch.float64)
    memory = torch.full((number, 1), 0.8, dtype=torch.float64)
    arguments = (one.expand(1, number, -1, 1), nothing, torch.zeros_like(memory), memory)
    drawn = run_recurrent_steps(*arguments, Gating(cell, EPS, True, generator))[1]
    mean = run_recurrent_steps(*arguments, Gating(cell, EPS))[1]
    error = drawn.std().item() / math.sqrt(number)
    # The constant on draws moves the mean gate a little; at these shapes by less than this.
    assert abs(drawn.mean().item() - mean[0, 0].item()) < 4 * error + 5e-4
    assert drawn.std() > 0.01


def test_no_steps_leave_nothing_and_pass_no_gradient() -> None:
    state = torch.zeros(BATCH, SIZE, requires_grad=True)
    states, memories, gates = run_recurrent_steps(
        torch.zeros(0, BATCH, 7, SIZE), torch.zeros(7 * SIZE, SIZE), state, state, Gating("bibeta5", EPS)
    )
    assert states.shape == memories.shape == (0, BATCH, SIZE)
    assert gates.shape == (0, BATCH, 5, SIZE)
    states.sum().backward()
    assert state.grad is None or not state.grad.any()
