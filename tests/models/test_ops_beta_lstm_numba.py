"""The compiled steps beside the plain ones, which `test_ops_beta_lstm_steps` holds to the equations."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from transformers.dynamic_module_utils import get_imports

from ctxzoo.models import ops_beta_lstm_plain as plain
from ctxzoo.models import ops_beta_lstm_steps as steps
from ctxzoo.models.layers_beta_lstm import BetaLSTM
from ctxzoo.models.ops_beta_lstm_gates import CELLS, Gating
from ctxzoo.models.ops_beta_lstm_steps import run_recurrent_steps
from tests.support.beta_lstm_layers import Case, RepeatedDraws

numba = pytest.importorskip("numba")
math = pytest.importorskip("ctxzoo.models.ops_compiled_math")
compiled = pytest.importorskip("ctxzoo.models.ops_beta_lstm_numba")
loops = pytest.importorskip("ctxzoo.models.ops_beta_lstm_loops")

EPS = 1e-3
GAMMAS = [name for name, cell in CELLS.items() if cell.has_gamma_gates]
LENGTH, BATCH, SIZE = 6, 3, 37  # no multiple of what a processor does at once

every_cell = pytest.mark.parametrize("cell", CELLS)
every_gamma_cell = pytest.mark.parametrize("cell", GAMMAS)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Compiled steps at any size; the list has a number for each layer that took them."""
    taken: list[int] = []

    def noticing(*arguments: Any) -> Callable[[int], None]:
        taken.append(1)
        made: Callable[[int], None] = forward_steps(*arguments)
        return made

    forward_steps = compiled.make_forward_step
    monkeypatch.setattr(steps, "COMPILED_FROM", 0)
    monkeypatch.setattr(steps, "COMPILED_ALONE_FROM", 0)
    monkeypatch.setattr(compiled, "make_forward_step", noticing)
    return taken


def close(found: torch.Tensor, expected: torch.Tensor, tolerance: float) -> None:
    size = max(1.0, float(expected.abs().max()))
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance * size)


@every_cell
@pytest.mark.parametrize(("length", "batch", "size"), [(1, 1, 1), (LENGTH, BATCH, SIZE)])
def test_values_and_gradients_are_those_of_plain_steps_in_float64(
    cell: str, length: int, batch: int, size: int, always: list[int]
) -> None:
    case, gating = Case(cell, length, batch, size), Gating(cell, EPS)
    found = case.run(gating, torch.float32)
    assert always
    always.clear()
    expected = case.run(gating, torch.float64)
    assert not always  # float64 has no compiled steps
    for one, other in zip(found, expected, strict=True):
        close(one.double(), other, 1e-5)


@every_gamma_cell
def test_drawn_gates_and_their_gradients_are_those_of_plain_steps_with_the_same_draws(cell: str) -> None:
    case, gating, number = Case(cell, LENGTH, BATCH, SIZE), Gating(cell, EPS, draw_gammas=True), CELLS[cell].blocks
    blocks = case.inputs[0].float()
    states, memories = torch.zeros(LENGTH + 1, BATCH, SIZE), torch.zeros(LENGTH + 1, BATCH, SIZE)
    memories[0] = case.inputs[3]
    draws = torch.empty(LENGTH, BATCH, number, SIZE)
    advance = compiled.make_forward_step(blocks, states, memories, gating, None, None, draws)
    expected_states, expected_memories = states.clone(), memories.clone()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plain, "draw_gammas", RepeatedDraws(draws))
        advance_plainly = plain.make_forward_step(blocks, expected_states, expected_memories, gating, None, None, None)
        for step in range(LENGTH):
            advance(step)
            advance_plainly(step)
    close(states, expected_states, 1e-5)
    close(memories, expected_memories, 1e-5)
    found = []
    for way in (compiled, plain):
        slopes = torch.empty_like(blocks)
        gradients = [gradient.float() for gradient in case.gradients]
        retreat = way.make_backward_step(blocks, memories, gating, draws, None, *gradients[1:], slopes)
        of_memory = case.inputs[2].float()
        for step in range(LENGTH - 1, -1, -1):
            retreat(step, gradients[0][step], of_memory)
        found.append((slopes, of_memory))
    for one, other in zip(*found, strict=True):
        close(one, other, 1e-3)  # the compiled ones read derivatives in a table, between whose values a line is drawn


def drawn(shapes: torch.Tensor, seed: int, length: int = 1, batch: int = 1) -> torch.Tensor:
    """Return draws (length, batch, 5, H) of Gamma variables with shapes (5, H)."""
    blocks = torch.zeros(length, batch, 7, shapes.size(1))
    blocks[:, :, :5] = torch.log(torch.expm1(shapes - EPS))
    states, memories = (torch.zeros(length + 1, batch, shapes.size(1)) for _ in range(2))
    draws = torch.empty(length, batch, 5, shapes.size(1))
    torch.manual_seed(seed)
    advance = compiled.make_forward_step(blocks, states, memories, Gating("bibeta5", EPS, True), None, None, draws)
    for step in range(length):
        advance(step)
    return draws


def test_draws_have_the_distribution() -> None:
    shapes = torch.tensor([0.01, 0.3, 0.694, 4.0, 60.0])
    draws = drawn(shapes.view(5, 1).expand(5, 20_000), 0)[0, 0].double().numpy()
    for values, shape in zip(draws, shapes.tolist(), strict=True):
        below = stats.gamma(shape).cdf(1e-30)
        uniform = (stats.gamma(shape).cdf(values[values > 1e-30]) - below) / (1 - below)
        assert stats.kstest(uniform, "uniform").pvalue > 1e-3, shape
        assert values.mean() == pytest.approx(shape, abs=5 * (shape / len(values)) ** 0.5)


def test_no_variable_repeats_another() -> None:
    shapes = torch.ones(5, 100)
    draws = drawn(shapes, 0, length=20, batch=10).flatten(2).double()
    assert len(draws.unique()) > 0.99 * draws.numel()  # float32 has fewer values than there are draws
    centred = (draws - draws.mean()) / draws.std()
    for one, other in (
        (centred[:-1], centred[1:]),
        (centred[:, :-1], centred[:, 1:]),
        (centred[..., :-1], centred[..., 1:]),
        (centred[..., :400], centred[..., 100:]),  # the blocks of a unit
    ):
        assert abs(float((one * other).mean())) < 5 / one.numel() ** 0.5


def test_a_seed_of_torch_decides_all_draws() -> None:
    shapes = torch.ones(5, 50)
    assert torch.equal(drawn(shapes, 3, 4, 2), drawn(shapes, 3, 4, 2))
    assert float((drawn(shapes, 3, 4, 2) == drawn(shapes, 4, 4, 2)).double().mean()) < 0.05


def test_a_generator_of_a_callers_own_has_the_draws_of_torch(always: list[int]) -> None:
    case = Case("bibeta5", LENGTH, BATCH, SIZE)
    case.run(Gating("bibeta5", EPS, True, torch.Generator().manual_seed(0)), torch.float32)
    assert not always


@every_cell
def test_extreme_pre_activations_stay_finite(cell: str, always: list[int]) -> None:
    case = Case(cell, LENGTH, BATCH, SIZE)
    case.inputs[0] = 40 * case.inputs[0]
    values = case.run(Gating(cell, EPS, draw_gammas=CELLS[cell].has_gamma_gates), torch.float32)
    assert always
    assert all(bool(tensor.isfinite().all()) for tensor in values)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_shows_in_its_unit_and_ends(bad: float, always: list[int]) -> None:
    x = torch.zeros(1, 1, 7, 20)
    x[0, 0, 0, 1] = bad
    weights, state = torch.zeros(140, 20), torch.ones(1, 20)
    _, memory, _ = run_recurrent_steps(
        x.requires_grad_(), weights, torch.zeros_like(state), state, Gating("bibeta5", EPS, True)
    )
    assert always
    assert memory[0, 0].isnan().nonzero().tolist() == [[1]]
    memory.sum().backward()  # outside of the table of derivatives, which is not read
    assert x.grad is not None
    assert x.grad[0, 0, :, 2].isfinite().all()


@pytest.mark.parametrize(("eps", "shift"), [(1e-5, 0.0), (EPS, 3000.0)], ids=["tiny shapes", "large shapes"])
def test_outside_the_table_the_derivatives_are_torchs(
    eps: float, shift: float, always: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []

    def noticing(*arguments: Any) -> Any:
        called.append(1)
        return plain.make_backward_step(*arguments)

    monkeypatch.setattr(compiled, "plain_backward_steps", noticing)
    case = Case("bibeta5", LENGTH, BATCH, SIZE)
    case.run(Gating("bibeta5", EPS, True), torch.float32)
    assert not called
    case.inputs[0] = case.inputs[0] + shift
    found = case.run(Gating("bibeta5", eps, True), torch.float32)
    assert called
    assert all(bool(tensor.isfinite().all()) for tensor in found)


def slopes_of(alphas: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:
    """The derivatives of draws by their shapes, (N,), as the compiled steps read them in their table."""
    table, columns = compiled.build_gamma_derivative_table()
    found, *room = torch.empty(4, len(alphas))
    corners = torch.empty(len(alphas), dtype=torch.int32)

    @numba.njit(**math.OPTIONS)
    def read(alphas: Any, draws: Any, found: Any, table: Any, corners: Any, across: Any, down: Any, logs: Any) -> None:
        loops.gamma_derivatives(alphas, draws, found, table, columns, corners, across, down, logs)

    read(*(x.numpy() for x in (alphas, draws, found, table, corners, *room)))
    return found


@pytest.mark.parametrize(
    ("alpha", "tolerance"),
    [(0.001, 1e-2), *((a, 1e-3) for a in (0.005, 0.01, 0.05, 0.3, 0.694, 1.0, 4.0, 60.0, 900.0))],
)
def test_derivatives_of_draws_are_torchs(alpha: float, tolerance: float) -> None:
    shapes = torch.full((50_000,), alpha)
    draws = torch._standard_gamma(shapes.double(), generator=torch.Generator().manual_seed(2)).float()
    draws = draws.clamp(min=torch.finfo(torch.float32).tiny)
    reference = torch._standard_gamma_grad(shapes.double(), draws.double())
    slopes = slopes_of(shapes, draws).double()
    torch.testing.assert_close(slopes, reference, rtol=tolerance, atol=0)
    assert float(slopes.mean() / reference.mean()) == pytest.approx(1, abs=1e-4)


def test_corners_of_the_table_are_read_inside_it() -> None:
    corners = torch.cartesian_prod(torch.tensor([1.2341e-4, 1096.0]), torch.tensor([1.2e-38, 6.1e-6, 6.2e-6, 2980.0]))
    assert slopes_of(*(column.contiguous() for column in corners.unbind(1))).isfinite().all()


def test_the_gradient_of_draws_is_that_of_the_mean_memory(always: list[int]) -> None:
    """The derivative of E[c] by a pre-activation, from draws, beside a difference of means."""
    number, u, far = 100_000, 0.3, 0.4
    state = torch.full((number, 1), 0.5)

    def memories_and_slopes(u: float, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        one = torch.tensor([u, 0.2, -0.4, 0.5, 0.1, 0.0, 0.8]).view(1, 1, 7, 1)
        x = one.repeat(1, number, 1, 1).requires_grad_()
        torch.manual_seed(seed)
        memory = run_recurrent_steps(x, torch.zeros(7, 1), state, state, Gating("bibeta5", EPS, True))[1]
        (gradient,) = torch.autograd.grad(memory.sum(), x)
        return memory.detach().double().flatten(), gradient[0, :, 0, 0].double()

    slopes = memories_and_slopes(u, 0)[1]
    above, below = (memories_and_slopes(u + sign * far, 1 + sign)[0] for sign in (1, -1))
    difference = (above.mean() - below.mean()) / (2 * far)
    error = (slopes.var() + (above.var() + below.var()) / (2 * far) ** 2).div(number).sqrt()
    assert float(difference) > 20 * float(error)
    assert float(slopes.mean()) == pytest.approx(float(difference), abs=5 * float(error) + 0.002)


def test_small_layers_and_predictions_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    monkeypatch.setattr(compiled, "can_run", lambda *_: taken.append(1))
    layer = BetaLSTM(4, 64, cell="bibeta5")
    layer(torch.zeros(10, 2, 4))  # 1,280 units
    layer.eval()
    with torch.no_grad():
        layer(torch.zeros(300, 2, 4))
    assert not taken
    layer(torch.zeros(300, 2, 4))
    assert taken


def test_tensors_without_numbers_are_for_plain_steps(always: list[int]) -> None:
    with FakeTensorMode():
        inputs, state = torch.zeros(5, 2, 6, 3, requires_grad=True), torch.zeros(2, 3)
        states = run_recurrent_steps(inputs, torch.zeros(18, 3), state, state, Gating("beta", EPS))[0]
    assert isinstance(states, FakeTensor)
    assert states.shape == (5, 2, 3)
    assert not always


def test_without_numba_the_steps_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    case, gating = Case("bibeta3", LENGTH, BATCH, SIZE), Gating("bibeta3", EPS)
    expected = case.run(gating, torch.float32)
    monkeypatch.setattr(steps, "COMPILED_FROM", 0)
    monkeypatch.setitem(sys.modules, "ctxzoo.models.ops_beta_lstm_numba", None)  # importing it is an ImportError
    assert all(torch.equal(one, other) for one, other in zip(case.run(gating, torch.float32), expected, strict=True))


def test_a_checkpoints_code_does_not_ask_for_numba() -> None:
    folder = Path(steps.__file__).parent
    for name in ("ops_beta_lstm_numba.py", "ops_beta_lstm_loops.py"):
        assert not {"numba", "llvmlite"} & set(get_imports(folder / name))


def test_functions_are_as_exact_as_floats() -> None:
    def applied(function: Any, values: np.ndarray) -> np.ndarray:
        @numba.njit(**math.OPTIONS)
        def every(x: Any, y: Any) -> None:
            for place in range(len(x)):
                y[place] = function(x[place])

        found = np.empty_like(values)
        every(values, found)
        return found.astype(np.float64)

    draws = np.random.default_rng(0)
    x = draws.uniform(-80, 80, 100_000).astype(np.float32)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(applied(loops.exp, x), np.exp(wide), rtol=5e-7)
    np.testing.assert_allclose(applied(loops.softplus, x), np.logaddexp(0, wide), rtol=1e-6)
    np.testing.assert_allclose(applied(loops.sigmoid, x), 1 / (1 + np.exp(-wide)), rtol=1e-6)
    np.testing.assert_allclose(applied(loops.tanh, x), np.tanh(wide), atol=2e-7)
    positive = np.exp(wide).astype(np.float32)
    np.testing.assert_allclose(applied(loops.log, positive), np.log(positive.astype(float)), rtol=3e-7, atol=1e-7)
    near = draws.uniform(0.9, 1.1, 10_000).astype(np.float32)
    np.testing.assert_allclose(applied(loops.log, near), np.log(near.astype(float)), rtol=3e-7)
    turns = draws.uniform(0, 1, 10_000).astype(np.float32)
    np.testing.assert_allclose(applied(loops.cosine_of_2pi, turns), np.cos(2 * np.pi * turns.astype(float)), atol=3e-7)


def test_random_bits_are_those_of_philox() -> None:
    """Random123's known answers are those of ten rounds; one round is written out here by hand."""

    @numba.njit
    def bits(element: int, attempt: int, step: int, first: int, second: int) -> Any:
        return loops.draw_random_bits(
            np.uint32(element), np.uint32(attempt), np.uint32(step), np.uint32(first), np.uint32(second)
        )

    counter, keys = [7, 2, 5, 0], [0x243F6A88, 0x85A308D3]
    for _ in range(7):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            (second >> 32) ^ counter[1] ^ keys[0],
            second & 0xFFFFFFFF,
            (first >> 32) ^ counter[3] ^ keys[1],
            first & 0xFFFFFFFF,
        ]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    assert list(bits(7, 2, 5, 0x243F6A88, 0x85A308D3)) == counter
