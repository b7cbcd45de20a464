"""The kernels beside the plain steps; see `tests.support.triton_interpreter`."""

from __future__ import annotations

import importlib.util
import sys

import pytest
import torch
from scipy import stats
from transformers.dynamic_module_utils import get_imports

from ctxzoo.models import ops_beta_lstm_plain as plain
from ctxzoo.models import ops_beta_lstm_steps as steps
from ctxzoo.models import ops_beta_lstm_triton as ops
from ctxzoo.models.ops_beta_lstm_gates import CELLS, Gating
from ctxzoo.models.ops_beta_lstm_steps import run_recurrent_steps
from ctxzoo.models.ops_beta_lstm_triton import can_run, forward_step
from tests.models.test_ops_beta_lstm_gates import CORRELATIONS
from tests.support.beta_lstm_layers import Case, RepeatedDraws
from tests.support.triton_interpreter import (
    HAS_TRITON,
    INTERPRETED,
    compile_for_hopper,
    interpreted,
    needs_compiler,
    needs_cuda,
    run_under_the_interpreter,
)

ON_DEVICE = [
    pytest.param("cpu", marks=interpreted),
    pytest.param("cuda", marks=[pytest.mark.gpu, needs_cuda]),
]
on_device = pytest.mark.parametrize("device", ON_DEVICE)
EPS = 1e-3
GAMMAS = [name for name, cell in CELLS.items() if cell.has_gamma_gates]


def case_of(cell: str, length: int, batch: int, size: int, device: str) -> Case:
    return Case(cell, length, batch, size, device, torch.float32)


def equal(found: list[torch.Tensor], expected: list[torch.Tensor], tolerance: float = 2e-5) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance * max(1.0, float(other.abs().max())))


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TRITON, reason="needs Triton")
@pytest.mark.skipif(INTERPRETED, reason="this is the process that it starts")
def test_under_the_interpreter() -> None:
    run_under_the_interpreter(__file__, compiled=3)


@on_device
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("length", "batch", "size"), [(1, 1, 1), (5, 3, 50)])
def test_cells_without_gamma_draws_equal_the_plain_steps(cell, length, batch, size, device, monkeypatch) -> None:
    case, gating = case_of(cell, length, batch, size, device), Gating(cell, EPS)
    assert can_run(case.inputs[0], gating, case.noise)
    fused = case.run(gating)
    monkeypatch.setattr(steps, "can_run", lambda *_: False)
    equal(fused, case.run(gating))


@on_device
@pytest.mark.parametrize("cell", GAMMAS)
def test_with_the_same_draws_they_equal_the_plain_steps(cell, device, monkeypatch) -> None:
    case, gating = case_of(cell, 5, 3, 50, device), Gating(cell, EPS, draw_gammas=True)
    written: list[torch.Tensor] = []

    def noticing(blocks: torch.Tensor, *arguments: object) -> None:
        forward_step(blocks, *arguments)  # type: ignore[arg-type]
        written.append(arguments[-1].clone())  # type: ignore[union-attr]

    monkeypatch.setattr(ops, "forward_step", noticing)
    fused = case.run(gating)
    assert len(written) == 5
    monkeypatch.setattr(steps, "can_run", lambda *_: False)
    monkeypatch.setattr(plain, "draw_gammas", RepeatedDraws(written))
    equal(fused, case.run(gating))


@on_device
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("length", "batch", "size"), [(1, 1, 1), (5, 3, 50)])
def test_all_steps_in_one_kernel_equal_the_plain_steps(cell, length, batch, size, device, monkeypatch) -> None:
    case, gating = case_of(cell, length, batch, size, device), Gating(cell, EPS)
    fused = case.run(gating, implementation="one_kernel")
    monkeypatch.setattr(steps, "can_run", lambda *_: False)
    equal(fused, case.run(gating))
    expected = case.run(gating, torch.float64)
    equal([tensor.double() for tensor in fused], expected, 1e-4)


@on_device
@pytest.mark.parametrize("cell", GAMMAS)
def test_all_steps_in_one_kernel_draw_as_the_kernels_of_a_step(cell, device) -> None:
    case, gating = case_of(cell, 5, 3, 50, device), Gating(cell, EPS, draw_gammas=True)
    torch.manual_seed(1)
    expected = case.run(gating)
    torch.manual_seed(1)
    equal(case.run(gating, implementation="one_kernel"), expected, 1e-4)


@on_device
def test_one_kernel_takes_some_gradients_alone(device) -> None:
    case, gating = case_of("bibeta5", 4, 2, 9, device), Gating("bibeta5", EPS)
    found = []
    for implementation in ("auto", "one_kernel"):
        inputs = [tensor.clone().requires_grad_() for tensor in case.inputs]
        memories = run_recurrent_steps(*inputs, gating, implementation=implementation)[1]
        found.append(torch.autograd.grad(memories, inputs, case.gradients[1]))
    equal(found[1], found[0])


def test_one_kernel_is_refused_where_it_cannot_run() -> None:
    case = case_of("bibeta5", 2, 1, 3, "cpu")
    with pytest.raises(ValueError, match="'fast' is none of auto, one_kernel"):
        case.run(Gating("bibeta5", EPS), implementation="fast")
    with pytest.raises(ValueError, match="'one_kernel' needs the package triton and a CUDA tensor in float32"):
        case.run(Gating("bibeta5", EPS), torch.float64, implementation="one_kernel")


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("cell", ["lstm", "kumaraswamy", "bibeta5"])
def test_compiles(cell, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    for size in (7, 148):
        flags = dict.fromkeys(("SCALE", "MEMORIES", "GATES"), True) | {"KEEP": CELLS[cell].has_gamma_gates}
        arguments = {
            **ops._list_gate_constants(Gating(cell, EPS, CELLS[cell].has_gamma_gates)),
            **ops._plan_sequence(size),
            **flags,
        }
        for kernel in (ops._forward_sequence_kernel, ops._backward_sequence_kernel):
            assert "bar.sync" in compile_for_hopper(kernel, {"eps": "fp32"}, arguments)


@on_device
@pytest.mark.parametrize("cell", GAMMAS)
def test_draws_have_the_distribution(cell, device) -> None:
    batch, size, count = 2, 400, CELLS[cell].blocks
    # Pre-activations of each block, for shapes from 0.05 to 20.
    shapes = torch.tensor([0.05, 0.3, 0.694, 3.0, 20.0])[:count]
    blocks = torch.zeros(batch, count + 2, size)
    blocks[:, :count] = torch.log(torch.expm1(shapes - EPS)).view(1, -1, 1)
    blocks = blocks.to(device)
    draws = torch.empty(batch, count, size, device=device)
    memory = torch.zeros(batch, size, device=device)
    after = (torch.empty_like(memory), torch.empty_like(memory))
    gating = Gating(cell, EPS, draw_gammas=True)
    forward_step(blocks, memory, *after, gating, 7, None, None, draws)
    for block, shape in enumerate(shapes.tolist()):
        drawn = draws[:, block].flatten().double().cpu().numpy()
        normal = drawn[drawn > 1e-30]
        below = stats.gamma(shape).cdf(1e-30)
        uniform = (stats.gamma(shape).cdf(normal) - below) / (1 - below)
        assert stats.kstest(uniform, "uniform").pvalue > 1e-3, shape
    rows = draws.flatten(1).double()
    assert len(rows.flatten().unique()) > 0.95 * rows.numel()  # no unit repeats another
    again = torch.empty_like(draws)
    forward_step(blocks, memory, *after, gating, 7, None, None, again)
    assert torch.equal(draws, again)
    forward_step(blocks, memory, *after, gating, 8, None, None, again)
    assert float((draws == again).double().mean()) < 0.05


@on_device
def test_a_seed_of_torch_repeats_a_training_step(device) -> None:
    case, gating = case_of("bibeta5", 4, 2, 20, device), Gating("bibeta5", EPS, draw_gammas=True)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(case.run(gating))
    assert all(torch.equal(one, other) for one, other in zip(found[0], found[1], strict=True))
    assert not torch.equal(found[0][0], found[2][0])


@on_device
def test_extreme_pre_activations_stay_finite(device) -> None:
    for cell in CELLS:
        case = case_of(cell, 3, 2, 10, device)
        case.inputs[0] = 40 * case.inputs[0]
        values = case.run(Gating(cell, EPS, draw_gammas=CELLS[cell].has_gamma_gates))
        assert all(bool(tensor.isfinite().all()) for tensor in values), cell


@on_device
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_shows_in_its_unit_and_ends(bad, device) -> None:
    x = torch.zeros(1, 1, 7, 2, device=device)
    x[0, 0, 0, 1] = bad
    weights, state = torch.zeros(14, 2, device=device), torch.ones(1, 2, device=device)
    _, memory, _ = run_recurrent_steps(x, weights, torch.zeros_like(state), state, Gating("bibeta5", EPS, True))
    assert memory[0, 0, 1].isnan()
    assert memory[0, 0, 0].isfinite()


@on_device
@pytest.mark.parametrize("row", [0, 5, 7])
def test_draws_of_one_unit_belong_together(row, device) -> None:
    """Both gates of the same draws have the means and the correlation of their cell; blocks draw each for itself."""
    cell, alpha, first_mean, second_mean, correlation = CORRELATIONS[row]
    gates = []
    for memory_before, candidate in ((0.0, 30.0), (1.0, 0.0)):  # the new memory is i, or f
        u = torch.log(torch.expm1(torch.tensor(alpha, dtype=torch.float64) - EPS))
        u = torch.cat([u, torch.tensor([0.0, candidate]).double()]).float().to(device)
        blocks = u.view(1, -1, 1).expand(4, -1, 512).contiguous()
        memory = torch.full((4, 512), memory_before, device=device)
        new_memory, new_state = torch.empty_like(memory), torch.empty_like(memory)
        forward_step(blocks, memory, new_memory, new_state, Gating(cell, EPS, True), 7)
        gates.append(new_memory.flatten().double().cpu())
    assert float(gates[0].mean()) == pytest.approx(first_mean, abs=0.04)
    assert float(gates[1].mean()) == pytest.approx(second_mean, abs=0.04)
    assert float(torch.corrcoef(torch.stack(gates))[0, 1]) == pytest.approx(correlation, abs=0.08)


@on_device
def test_steps_draw_anew(device) -> None:
    blocks = torch.zeros(3, 4, 7, 100, device=device, requires_grad=True)
    weights, state = torch.zeros(700, 100, device=device), torch.zeros(4, 100, device=device)
    _, memory, _ = run_recurrent_steps(blocks, weights, state, state + 1, Gating("bibeta5", EPS, True))
    kept = torch.stack([memory[0], memory[1] / memory[0], memory[2] / memory[1]]).flatten(1).detach().cpu()
    assert (torch.corrcoef(kept) - torch.eye(3)).abs().max() < 0.2


@on_device
def test_where_they_are_available(device) -> None:
    x = torch.zeros(2, 3, device=device)
    assert can_run(x, Gating("bibeta5", EPS), None)
    assert not can_run(x.double(), Gating("bibeta5", EPS), None)
    assert not can_run(x, Gating("kumaraswamy", EPS), None)
    assert not can_run(x, Gating("bibeta5", EPS, True, torch.Generator()), None)
    assert not can_run(x[:0], Gating("lstm", EPS), None)


@pytest.mark.skipif(INTERPRETED, reason="there the CPU is available")
def test_cpu_is_not_available() -> None:
    assert not can_run(torch.zeros(2, 3), Gating("lstm", EPS), None)


def test_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)  # importing it raises ImportError
    spec = importlib.util.spec_from_file_location("ctxzoo.models.ops_beta_lstm_without_triton", ops.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert not module.can_run(torch.zeros(2, 3), Gating("lstm", EPS), None)


def test_checkpoints_do_not_ask_for_triton() -> None:
    assert "triton" not in get_imports(ops.__file__)
