from __future__ import annotations

import pytest
import torch
from packaging.version import Version
from torch import nn

from ctxzoo.models.layers_recurrent import MaskedBiRNN
from ctxzoo.models.ops_recurrent import reverse_within_length, run_gru_steps, run_recurrent_scan
from tests.references.recurrent import reference_gru_steps, reference_reverse_within_length

LENGTHS = torch.tensor([5, 3, 1, 0])


def sequences() -> torch.Tensor:
    return torch.arange(1.0, 41.0, dtype=torch.float64).view(4, 5, 2)


def test_known_rows() -> None:
    reversed_rows = reverse_within_length(sequences(), LENGTHS)[:, :, 0].tolist()
    assert reversed_rows[0] == [9, 7, 5, 3, 1]
    assert reversed_rows[1] == [15, 13, 11, 17, 19]  # padding stays where it is
    assert reversed_rows[2] == [21, 23, 25, 27, 29]
    assert reversed_rows[3] == [31, 33, 35, 37, 39]


def test_equals_the_reference_and_is_its_own_inverse() -> None:
    x = torch.randn(4, 5, 3)
    assert torch.equal(reverse_within_length(x, LENGTHS), reference_reverse_within_length(x, LENGTHS))
    assert torch.equal(reverse_within_length(reverse_within_length(x, LENGTHS), LENGTHS), x)


def test_gradients() -> None:
    x = torch.randn(4, 5, 2, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda value: reverse_within_length(value, LENGTHS), x)


def case(length: int, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    shapes = ((2, length, 3, 12), (2, 12, 4), (2, 12))
    inputs, weight, bias = (torch.randn(shape, dtype=torch.float64).to(dtype).requires_grad_() for shape in shapes)
    return inputs, weight, bias


@pytest.mark.parametrize("length", [1, 2, 7])
def test_equals_the_reference_in_values_and_gradients(length: int) -> None:
    arguments = case(length)
    weight = torch.randn(2, length, 3, 4, dtype=torch.float64)
    found, expected = run_gru_steps(*arguments), reference_gru_steps(*arguments)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)
    gradients = [torch.autograd.grad((out * weight).sum(), arguments) for out in (found, expected)]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-13)


def test_gradcheck() -> None:
    assert torch.autograd.gradcheck(run_gru_steps, case(3))


def test_strides_of_the_gradient_do_not_matter() -> None:
    arguments = case(4)
    out = run_gru_steps(*arguments)
    weight = torch.randn(4, 2, 3, 4, dtype=torch.float64).transpose(0, 1)
    strided = torch.autograd.grad(out, arguments, weight, retain_graph=True)
    for one, other in zip(strided, torch.autograd.grad(out, arguments, weight.contiguous()), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_types_are_computed_in_float32(dtype: torch.dtype) -> None:
    inputs, weight, bias = case(6, dtype)
    found = run_gru_steps(inputs, weight, bias)
    assert found.dtype == dtype
    assert torch.equal(found, run_gru_steps(inputs.float(), weight.float(), bias.float()).to(dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(run_gru_steps(inputs, weight, bias), found)


def test_no_steps_give_no_states() -> None:
    inputs, weight, bias = case(1)
    out = run_gru_steps(inputs[:, :0], weight, bias)
    assert out.shape == (2, 0, 3, 4)
    assert all((gradient == 0).all() for gradient in torch.autograd.grad(out.sum(), (weight, bias)))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_the_states_are_the_same(mode: type[torch.no_grad]) -> None:
    arguments = case(5)
    with_gradients = run_gru_steps(*arguments).detach()
    with mode():
        torch.testing.assert_close(run_gru_steps(*arguments), with_gradients, rtol=0, atol=1e-14)
    detached = (value.detach() for value in arguments)
    torch.testing.assert_close(run_gru_steps(*detached), with_gradients, rtol=0, atol=1e-14)


CELLS = {"lstm": nn.LSTM, "gru": nn.GRU}


def _reference(cell: str) -> tuple[nn.Module, list[torch.Tensor]]:
    torch.manual_seed(3)
    layer = CELLS[cell](5, 4, batch_first=True).double()
    return layer, [layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0]


each_cell_and_size = pytest.mark.parametrize(
    ("cell", "batch", "steps"),
    [
        pytest.param(cell, *size, marks=[pytest.mark.slow] if size == (2, 1) else [])
        for cell in CELLS
        for size in ((3, 6), (1, 1), (2, 1))
    ],
)


@each_cell_and_size
def test_same_values_and_gradients_as_the_library(cell: str, batch: int, steps: int) -> None:
    layer, weights = _reference(cell)
    x = torch.randn(batch, steps, 5, dtype=torch.float64, requires_grad=True)
    probe = torch.randn(batch, steps, 4, dtype=torch.float64)
    expected, found = layer(x)[0], run_recurrent_scan(x, weights, cell)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    if Version(torch.__version__) < Version("2.13"):
        return  # torch 2.11's scan has wrong gradients
    theirs, ours = (torch.autograd.grad((each * probe).sum(), [x, *weights]) for each in (expected, found))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
def test_exported_layer_runs_at_other_lengths(cell: str) -> None:
    torch.manual_seed(0)
    layer = MaskedBiRNN(5, 4, cell).eval()
    traced = (torch.randn(2, 6, 5), torch.arange(6) < torch.tensor([[6], [3]]))
    dynamic = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    exported = torch.export.export(layer, traced, dynamic_shapes=(dynamic, dynamic)).module()
    for lengths in ([11, 1, 7], [1], [4, 4]):
        steps = max(lengths)
        x, mask = torch.randn(len(lengths), steps, 5), torch.arange(steps) < torch.tensor(lengths).unsqueeze(1)
        torch.testing.assert_close(exported(x, mask), layer(x, mask), rtol=1e-5, atol=1e-6)
