from __future__ import annotations

import pytest
import torch

from ctxzoo.models.ops_gru_steps import gru_steps, reference_gru_steps


def case(length: int, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    shapes = ((2, length, 3, 12), (2, 12, 4), (2, 12))
    inputs, weight, bias = (torch.randn(shape, dtype=torch.float64).to(dtype).requires_grad_() for shape in shapes)
    return inputs, weight, bias


@pytest.mark.parametrize("length", [1, 2, 7])
def test_equals_the_reference_in_values_and_gradients(length: int) -> None:
    arguments = case(length)
    weight = torch.randn(2, length, 3, 4, dtype=torch.float64)
    found, expected = gru_steps(*arguments), reference_gru_steps(*arguments)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)
    gradients = [torch.autograd.grad((out * weight).sum(), arguments) for out in (found, expected)]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-13)


def test_gradcheck() -> None:
    assert torch.autograd.gradcheck(gru_steps, case(3))


def test_strides_of_the_gradient_do_not_matter() -> None:
    arguments = case(4)
    out = gru_steps(*arguments)
    weight = torch.randn(4, 2, 3, 4, dtype=torch.float64).transpose(0, 1)
    strided = torch.autograd.grad(out, arguments, weight, retain_graph=True)
    for one, other in zip(strided, torch.autograd.grad(out, arguments, weight.contiguous()), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_types_are_computed_in_float32(dtype: torch.dtype) -> None:
    inputs, weight, bias = case(6, dtype)
    found = gru_steps(inputs, weight, bias)
    assert found.dtype == dtype
    assert torch.equal(found, gru_steps(inputs.float(), weight.float(), bias.float()).to(dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(gru_steps(inputs, weight, bias), found)


def test_no_steps_give_no_states() -> None:
    inputs, weight, bias = case(1)
    out = gru_steps(inputs[:, :0], weight, bias)
    assert out.shape == (2, 0, 3, 4)
    assert all((gradient == 0).all() for gradient in torch.autograd.grad(out.sum(), (weight, bias)))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_the_states_are_the_same(mode: type[torch.no_grad]) -> None:
    arguments = case(5)
    with_gradients = gru_steps(*arguments).detach()
    with mode():
        torch.testing.assert_close(gru_steps(*arguments), with_gradients, rtol=0, atol=1e-14)
    detached = (value.detach() for value in arguments)
    torch.testing.assert_close(gru_steps(*detached), with_gradients, rtol=0, atol=1e-14)
