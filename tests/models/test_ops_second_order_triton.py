"""The kernels beside the equations in float64; see `tests.support.triton_interpreter`."""

from __future__ import annotations

import importlib.util
import math
import sys

import pytest
import torch
from transformers.dynamic_module_utils import get_imports

from ctxzoo.models import ops_second_order_triton as ops
from ctxzoo.models.ops_second_order_attention import second_order_attention
from ctxzoo.models.ops_second_order_triton import second_order_backward, second_order_forward
from ctxzoo.models.ops_triton import can_run
from tests.support.triton_interpreter import (
    HAS_TRITON,
    INTERPRETED,
    allow_tf32,
    interpreted,
    needs_cuda,
    run_under_the_interpreter,
)

NAMES = ("out", "lse", "dx", "dp", "dq", "dweight")


class Case:
    """Random x, p, q, W, mask and gradient; row 0 has no real token where there are several rows."""

    def __init__(
        self,
        batch: int,
        n: int,
        m: int,
        u: int,
        dtype: torch.dtype = torch.float32,
        largest_logit: float | None = None,
        device: str = "cpu",
    ) -> None:
        generator = torch.Generator().manual_seed(batch + n + m + u)

        def draw(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        x, p, q, weight = draw(batch, n, m), draw(batch, n, u), draw(batch, u), draw(m, u) / u**0.5
        if largest_logit is not None:
            weight *= largest_logit / torch.einsum("jr,bir,br->bij", weight, p, q).abs().max()
        self.mask = torch.rand(batch, n, generator=generator) > 0.3  # with holes
        self.mask[-1] = False
        self.mask[-1, -1] = True  # all but the last block of this row are empty
        if batch > 1:
            self.mask[0] = False
        self.mask = self.mask.to(device)
        self.inputs = [tensor.to(device=device, dtype=dtype) for tensor in (x, p, q, weight)]
        self.grad = draw(batch, m).to(device=device, dtype=dtype)

    def fused(self) -> list[torch.Tensor]:
        out, lse = second_order_forward(*self.inputs, self.mask)
        return [out, lse, *second_order_backward(self.grad, *self.inputs, self.mask, out, lse)]

    def reference(self) -> list[torch.Tensor]:
        """The same from the equations in float64, with the gradients of autograd."""
        x, p, q, weight = (tensor.detach().double().requires_grad_() for tensor in self.inputs)
        some_real = self.mask.any(1)[:, None]
        logits = torch.einsum("jr,bir,br->bij", weight, p, q)
        # An empty row is softened over all tokens and then zeroed, so that no NaN enters the gradients.
        logits = logits.masked_fill((~self.mask & some_real)[:, :, None], -math.inf)
        attention = logits.softmax(1) * self.mask[:, :, None]
        out = (attention * x).sum(1)
        gradients = torch.autograd.grad(out, (x, p, q, weight), self.grad.double())
        return [out.detach(), logits.detach().logsumexp(1) * some_real, *gradients]

    def check(self, tolerance: float) -> None:
        for name, got, expected in zip(NAMES, self.fused(), self.reference(), strict=True):
            assert got.shape == expected.shape, name
            assert got.isfinite().all(), name
            scale = expected.abs().max().item()
            torch.testing.assert_close(
                got.double(), expected, rtol=tolerance, atol=tolerance * scale, msg=lambda text, name=name: name + text
            )


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TRITON, reason="needs Triton")
@pytest.mark.skipif(INTERPRETED, reason="this is the process that it starts")
def test_under_the_interpreter() -> None:
    run_under_the_interpreter(__file__)


@interpreted
@pytest.mark.parametrize(
    ("batch", "n", "m", "u"),
    [
        (2, 1, 5, 3),
        (3, 7, 70, 17),  # more rows than programs for dW: each adds up several
        (2, 33, 40, 100),
        (2, 130, 5, 3),
        (1, 300, 40, 17),  # tokens divided among programs, in both passes
        (2, 33, 5, 130),  # ranks in two blocks
    ],
)
def test_equals_the_reference(batch: int, n: int, m: int, u: int) -> None:
    Case(batch, n, m, u).check(1e-5)


@interpreted
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 2e-2), (torch.float16, 2e-3)])
def test_equals_the_reference_in_low_precision(dtype: torch.dtype, tolerance: float) -> None:
    case = Case(3, 130, 40, 17, dtype)
    case.check(tolerance)
    dtypes = [tensor.dtype for tensor in case.fused()]
    assert dtypes == [torch.float32, torch.float32, dtype, dtype, dtype, dtype]


@interpreted
def test_inputs_of_different_dtypes() -> None:
    case = Case(2, 33, 5, 17)
    case.inputs[1], case.inputs[2] = case.inputs[1].bfloat16(), case.inputs[2].half()
    case.check(2e-2)
    assert [tensor.dtype for tensor in case.fused()[2:]] == [tensor.dtype for tensor in case.inputs]


@interpreted
@pytest.mark.parametrize("n", [1, 33])
def test_large_logits_stay_finite(n: int) -> None:
    # Logits are rounded to 1e4 / 2^24, which the exponential turns into a relative error of the weights.
    Case(3, n, 40, 17, largest_logit=1e4).check(5e-3)


@interpreted
def test_row_without_real_tokens() -> None:
    out, lse, dx, dp, dq, _ = Case(3, 7, 5, 3).fused()
    for tensor in (out, lse, dx, dp, dq):
        assert not tensor[0].any()


@interpreted
def test_one_token_is_its_own_context() -> None:
    case = Case(1, 1, 40, 17)
    out, _, dx, dp, dq, dweight = case.fused()
    assert torch.equal(out, case.inputs[0][:, 0])
    torch.testing.assert_close(dx[:, 0], case.grad)
    assert not any(tensor.any() for tensor in (dp, dq, dweight))


@interpreted
def test_values_at_other_tokens_do_not_matter() -> None:
    case = Case(2, 33, 40, 17)
    before = case.fused()
    x, p, _, _ = case.inputs
    x[~case.mask], p[~case.mask] = 1e6, -1e6
    for name, one, other in zip(NAMES, before, case.fused(), strict=True):
        assert torch.equal(one, other), name
    assert not before[2][~case.mask].any()
    assert not before[3][~case.mask].any()


@interpreted
def test_inputs_that_are_not_contiguous() -> None:
    case = Case(3, 33, 40, 17)
    expected = case.fused()
    x, p, q, weight = case.inputs
    case.inputs = [
        x.permute(1, 2, 0).contiguous().permute(2, 0, 1),
        torch.stack([p, -p], dim=-1).transpose(0, 1).contiguous().transpose(0, 1)[..., 0],
        q.T.contiguous().T,
        weight.T.contiguous().T,
    ]
    case.grad = case.grad.T.contiguous().T
    case.mask = torch.stack([case.mask, ~case.mask], dim=-1)[..., 0]
    assert not any(tensor.is_contiguous() for tensor in (*case.inputs, case.grad, case.mask))
    for name, one, other in zip(NAMES, expected, case.fused(), strict=True):
        assert torch.equal(one, other), name
        assert other.is_contiguous()


@interpreted
def test_gradient_that_is_expanded() -> None:
    case = Case(2, 7, 5, 3)
    case.grad = torch.ones(1).expand(2, 5)
    case.check(1e-5)


@interpreted
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_op_runs_them_and_their_gradients(dtype: torch.dtype) -> None:
    case = Case(3, 17, 12, 6, dtype)
    found = {}
    chosen = "closed_form" if dtype == torch.float32 else "triton"  # for gradients
    for implementation in ("auto", "triton", "closed_form", "plain"):
        inputs = [tensor.clone().requires_grad_() for tensor in case.inputs]
        out = second_order_attention(*inputs, case.mask, implementation)  # type: ignore[arg-type]
        assert out.dtype == dtype
        found[implementation] = [out.detach(), *torch.autograd.grad(out, inputs, case.grad)]
    assert all(torch.equal(one, other) for one, other in zip(found["auto"], found[chosen], strict=True))
    with torch.no_grad():
        assert torch.equal(second_order_attention(*case.inputs, case.mask), found["triton"][0])
    tolerance = 1e-5 if dtype == torch.float32 else 0.06
    for fused, plain in zip(found["triton"], found["plain"], strict=True):
        torch.testing.assert_close(fused, plain, rtol=tolerance, atol=tolerance * plain.abs().max().item())


@interpreted
def test_available_under_the_interpreter() -> None:
    assert can_run(torch.zeros(1))
    assert not can_run(torch.zeros(1, dtype=torch.float64))
    assert not can_run(torch.zeros(1, device="meta"))


@pytest.mark.skipif(INTERPRETED, reason="there the CPU is available")
def test_cpu_is_not_available() -> None:
    case = Case(2, 7, 5, 3)
    assert not can_run(case.inputs[0])
    with pytest.raises(RuntimeError, match="Triton"):
        case.fused()


def test_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)  # importing it raises ImportError
    monkeypatch.delitem(sys.modules, "ctxzoo.models.ops_triton")
    spec = importlib.util.spec_from_file_location("ctxzoo.models.ops_without_triton", ops.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "ctxzoo.models.ops_without_triton", module)
    spec.loader.exec_module(module)
    case = Case(2, 7, 5, 3)
    assert not module.can_run(case.inputs[0])
    with pytest.raises(RuntimeError, match="Triton"):
        module.second_order_forward(*case.inputs, case.mask)


def test_checkpoints_do_not_ask_for_triton() -> None:
    assert "triton" not in get_imports(ops.__file__)


@pytest.mark.parametrize(
    ("position", "replacement", "error", "message"),
    [
        (0, torch.zeros(2, 7), ValueError, "x and p"),
        (0, torch.zeros(2, 0, 5), ValueError, "empty"),
        (0, torch.zeros(2, 7, 5, dtype=torch.float64), TypeError, "x must be torch.float32"),
        (1, torch.zeros(2, 6, 3), ValueError, r"p must be \(2, 7, 3\)"),
        (2, torch.zeros(3), ValueError, "q must be"),
        (3, torch.zeros(3, 5), ValueError, "weight must be"),
        (3, torch.zeros(5, 3, device="meta"), ValueError, "weight must be on cpu"),
        (4, torch.ones(2, 7), TypeError, "mask must be torch.bool"),
        (4, torch.ones(2, 6, dtype=torch.bool), ValueError, "mask must be"),
    ],
)
def test_bad_input(position: int, replacement: torch.Tensor, error: type[Exception], message: str) -> None:
    case = Case(2, 7, 5, 3)
    arguments = [*case.inputs, case.mask]
    arguments[position] = replacement
    with pytest.raises(error, match=message):
        second_order_forward(*arguments)


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize(
    ("dtype", "tf32", "tolerance"),
    [
        (torch.float32, False, 5e-5),
        (torch.float32, True, 1e-2),
        (torch.float16, False, 1e-2),
        (torch.bfloat16, False, 3e-2),
    ],
)
@pytest.mark.parametrize(
    ("batch", "n", "m", "u"),
    [(2, 1, 5, 3), (64, 64, 512, 64), (5, 1000, 520, 100), (2, 4096, 512, 128), (300, 33, 270, 100), (3, 130, 70, 256)],
)
def test_on_cuda(batch: int, n: int, m: int, u: int, dtype: torch.dtype, tf32: bool, tolerance: float) -> None:
    with allow_tf32(tf32):
        case = Case(batch, n, m, u, dtype, device="cuda")
        case.check(tolerance)
        for name, one, other in zip(NAMES, case.fused(), case.fused(), strict=True):
            assert torch.equal(one, other), f"{name} is not the same twice"
        large = Case(batch, n, m, u, dtype, largest_logit=1e4, device="cuda")
        assert all(tensor.isfinite().all() for tensor in large.fused())
