"""The kernels of causal sums beside the plain sums in float64; see `tests.support.triton_interpreter`."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers.dynamic_module_utils import get_imports

from ctxzoo.models import ops_linear_encoder_triton as ops
from ctxzoo.models.layers_linear_encoder import EfficientAttention
from ctxzoo.models.ops_linear_encoder import (
    Features,
    LinearState,
    feature_map,
    linear_attention,
)
from ctxzoo.models.ops_linear_encoder_triton import causal_sums_backward, causal_sums_forward
from tests.support.triton_interpreter import (
    HAS_TRITON,
    INTERPRETED,
    allow_tf32,
    compile_for_hopper,
    interpreted,
    needs_compiler,
    needs_cuda,
    run_under_the_interpreter,
)

NAMES = ("out", "last", "guard", "dquery", "dkey", "dvalue", "dsums")


class Case:
    """Random inputs of the kernels and gradients of their outputs; keys are 0 here and there, as at padding."""

    def __init__(
        self,
        batch: int,
        heads: int,
        length: int,
        features: int,
        width: int,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
        rising: bool = True,
    ) -> None:
        generator = torch.Generator().manual_seed(batch + heads + length + features + width)

        def draw(*shape: int) -> torch.Tensor:
            return torch.randn(batch, heads, *shape, generator=generator, dtype=torch.float64)

        query, key = draw(length, features).abs(), draw(length, features).abs()
        key[torch.rand(batch, heads, length, generator=generator) < 0.2] = 0.0
        # Levels that stay, rise a little, and leap so far that all before is forgotten.
        steps = draw(length + 1) * (draw(length + 1) > 1.0)
        levels = (steps.abs() + 1e4 * (draw(length + 1) > 2.5)).cumsum(dim=-1) * rising
        levels[:1, :1] = 0.0
        self.levels = levels.float().to(device)
        tensors = query, key, draw(length, width), draw(features, width + 1)
        self.inputs = [tensor.to(device=device, dtype=dtype) for tensor in tensors]
        gradients = draw(length, width + 1), draw(features, width + 1)
        self.gradients = [tensor.to(device=device, dtype=dtype) for tensor in gradients]

    def fused(self) -> list[torch.Tensor]:
        query, key, value, sums = self.inputs
        inputs = query, key, value, self.levels, sums
        out, last, guard = causal_sums_forward(*inputs, with_guard=True)
        assert guard is not None
        return [out, last, guard, *causal_sums_backward(*self.gradients, *inputs)]

    def reference(self) -> list[torch.Tensor]:
        """The same from the equations in float64, by a matrix over all positions, with the gradients of autograd."""
        inputs = [tensor.detach().double().requires_grad_() for tensor in self.inputs]
        query, key, value, sums = inputs
        first, levels = self.levels.double()[..., :1], self.levels.double()[..., 1:]
        decay = (levels.unsqueeze(-2) - levels.unsqueeze(-1)).clamp(max=0).exp().tril()
        fall, rise = (first - levels).exp().unsqueeze(-1), (levels - levels[..., -1:]).exp().unsqueeze(-1)
        weighed = torch.cat((value, torch.ones_like(value[..., :1])), dim=-1)
        out = ((query @ key.mT) * decay) @ weighed + fall * (query @ sums)
        last = key.mT @ (weighed * rise) + sums * fall[..., -1:, :]
        seen = key.sum(dim=-1, keepdim=True)
        guard = decay @ seen + fall * sums[..., -1].sum(dim=-1)[..., None, None]
        gradients = torch.autograd.grad((out, last), inputs, [gradient.double() for gradient in self.gradients])
        return [out.detach(), last.detach(), guard.detach().squeeze(-1), *gradients]

    def check(self, tolerance: float) -> None:
        for name, got, expected in zip(NAMES, self.fused(), self.reference(), strict=True):
            check_close(name, got, expected, tolerance)


def check_close(name: str, got: torch.Tensor, expected: torch.Tensor, tolerance: float) -> None:
    assert got.shape == expected.shape, name
    scale = max(1.0, expected.abs().max().item())
    torch.testing.assert_close(
        got.double(), expected.double(), rtol=tolerance, atol=tolerance * scale, msg=lambda text: f"{name}: {text}"
    )


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TRITON, reason="needs Triton")
@pytest.mark.skipif(INTERPRETED, reason="this is the process that it starts")
def test_under_the_interpreter() -> None:
    run_under_the_interpreter(__file__, compiled=6)


@interpreted
@pytest.mark.parametrize(
    ("batch", "heads", "length", "features", "width"),
    [
        (1, 1, 1, 3, 2),  # a text of one word
        (2, 1, 16, 16, 16),  # whole blocks
        (1, 2, 70, 5, 3),  # three chunks, the last of six
        (2, 1, 33, 40, 35),  # two blocks of features, and two of columns
        (1, 1, 40, 70, 17),
    ],
)
def test_equals_the_sums_over_a_matrix(batch: int, heads: int, length: int, features: int, width: int) -> None:
    Case(batch, heads, length, features, width).check(1e-5)


@interpreted
def test_at_one_level() -> None:
    Case(2, 2, 40, 7, 5, rising=False).check(1e-5)


@interpreted
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 2e-2), (torch.float16, 2e-3)])
def test_equals_the_sums_in_low_precision(dtype: torch.dtype, tolerance: float) -> None:
    case = Case(1, 2, 70, 33, 17, dtype)
    case.check(tolerance)
    assert [tensor.dtype for tensor in case.fused()] == [dtype, dtype, torch.float32, *(4 * [dtype])]


@interpreted
def test_inputs_that_are_not_contiguous() -> None:
    case = Case(2, 2, 20, 6, 5)
    expected = case.fused()
    case.inputs = [tensor.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0) for tensor in case.inputs]
    case.gradients = [torch.stack([tensor, tensor], dim=-1)[..., 0] for tensor in case.gradients]
    assert not any(tensor.is_contiguous() for tensor in (*case.inputs, *case.gradients))
    for name, one, other in zip(NAMES, expected, case.fused(), strict=True):
        assert torch.equal(one, other), name


# --- The operation ---


class Attended:
    """Tokens, a mask and a state for `linear_attention`, and what it gives with the gradients of all that has some."""

    def __init__(self, kind: str, length: int = 37, width: int = 5, queries: int | None = None) -> None:
        generator = torch.Generator().manual_seed(length)

        def draw(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        self.kind, self.projection = kind, draw(2, 9, 4)
        self.query, self.key = draw(2, 2, queries or length, 4), draw(2, 2, length, 4)
        # The importance of keys, in nats: it rises by far more than a key may be above the level of the first.
        self.importance = torch.linspace(0.0, 200.0, length, dtype=torch.float64).unsqueeze(-1)
        self.value = draw(2, 2, length, width)
        features = {"elu": 4, "hyperbolic": 18}.get(kind, 9)
        self.state = LinearState(draw(2, 2, features, width + 1).abs(), draw(2, 2))
        self.mask: torch.Tensor | None = None
        self.gradients = draw(2, 2, queries or length, width), draw(2, 2, features, width + 1)

    def features(self, x: torch.Tensor, of_keys: bool) -> Features:
        projection = None if self.kind == "elu" else self.projection.to(x.dtype)
        found = feature_map(x, self.kind, projection)
        return found._replace(offset=found.offset + self.importance.to(x.dtype)) if of_keys else found

    def run(self, dtype: torch.dtype, implementation: str, with_state: bool) -> list[torch.Tensor]:
        """Return output, the state behind the keys, the clamped fraction, and gradients."""
        tensors = self.query, self.key, self.value, self.state.sums
        query, key, value, sums = inputs = [tensor.to(dtype, copy=True).requires_grad_() for tensor in tensors]
        out, last, clamped = linear_attention(
            self.features(query, False),
            self.features(key, True),
            value,
            self.mask,
            causal=True,
            chunk_size=8,
            state=LinearState(sums, self.state.level.to(dtype)) if with_state else None,
            with_state=True,
            with_clamped=True,
            implementation=implementation,  # type: ignore[arg-type]
        )
        assert last is not None
        assert clamped is not None
        of_out, of_sums = (gradient.to(dtype) for gradient in self.gradients)
        results = [out, last.sums]
        gradients = torch.autograd.grad(results, inputs[: 4 if with_state else 3], [of_out, of_sums])
        return [out, last.sums, last.level, clamped, *gradients]

    def check(self, with_state: bool = False, tolerance: float = 5e-5) -> None:
        expected = self.run(torch.float64, "plain", with_state)
        for number, got in enumerate(self.run(torch.float32, "triton", with_state)):
            # The level of a text without words is the lowest number, another one of each type.
            check_close(
                str(number), *(x.detach().double().clamp(min=-1e30) for x in (got, expected[number])), tolerance
            )


@interpreted
@pytest.mark.parametrize("kind", ["favor", "hyperbolic", "elu"])
@pytest.mark.parametrize("with_state", [False, True])
def test_attention_equals_the_plain_form(kind: str, with_state: bool) -> None:
    case = Attended(kind)
    assert case.run(torch.float64, "plain", False)[2].min() > 100  # the level has risen
    case.check(with_state)


@interpreted
def test_attention_under_a_mask() -> None:
    case = Attended("favor")
    case.mask = torch.ones(2, 37, dtype=torch.bool)
    case.mask[0, :3] = False
    case.mask[0, -4:] = False
    case.mask[1] = False  # a text without words
    case.check()
    assert not case.run(torch.float32, "triton", False)[0][1].any()


@interpreted
def test_attention_with_fewer_queries_than_keys() -> None:
    Attended("elu", queries=20).check()


@interpreted
def test_attention_to_one_word() -> None:
    Attended("favor", length=1).check()
    Attended("favor", length=1).check(with_state=True)


@interpreted
def test_the_layer_runs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = EfficientAttention(2, 4, feature_map="learned").eval()
    heads = torch.randn(1, 2, 21, 4)
    expected = layer(heads, heads, heads, None, True)[0]
    called: list[bool] = []
    monkeypatch.setattr(
        "ctxzoo.models.ops_linear_encoder.causal_sums_forward",
        lambda *arguments: called.append(True) or causal_sums_forward(*arguments),
    )
    layer(heads, heads, heads, None, True)
    assert not called  # auto does not take them
    layer.implementation = "triton"
    torch.testing.assert_close(layer(heads, heads, heads, None, True)[0], expected)
    assert called
    layer(heads, heads, heads, None, False)  # where there are no causal sums, nothing is chosen


@interpreted
def test_second_derivatives_are_refused() -> None:
    case = Attended("elu", length=5)
    query = case.query.float().requires_grad_()
    pair = case.features(query, False), case.features(case.key.float(), True)
    out = linear_attention(*pair, case.value.float(), causal=True, implementation="triton")[0]
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.grad(out.sum(), query, create_graph=True)


@pytest.mark.parametrize(
    ("implementation", "causal", "message"),
    [("fast", True, "'fast' is none of auto, plain, triton"), ("triton", False, "got causal=False")],
)
def test_bad_implementation(implementation: str, causal: bool, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attend_by(implementation, causal)


@pytest.mark.skipif(INTERPRETED, reason="there the CPU is available")
def test_cpu_is_not_available() -> None:
    message = "needs the package triton and a CUDA tensor in float32 or half precision, got float32 on cpu"
    with pytest.raises(ValueError, match=message):
        attend_by("triton", causal=True)


def attend_by(implementation: str, causal: bool) -> None:
    case = Attended("elu", length=3)
    query, key, value = (tensor.float() for tensor in (case.query, case.key, case.value))
    pair = case.features(query, False), case.features(key, True)
    linear_attention(*pair, value, causal=causal, implementation=implementation)  # type: ignore[arg-type]


def test_checkpoints_do_not_ask_for_triton() -> None:
    assert "triton" not in get_imports(ops.__file__)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("precision", ["ieee", "tf32", "bf16"])
@pytest.mark.parametrize(("length", "features", "width"), [(5, 32, 64), (1000, 70, 3)])
def test_compiles(
    precision: str, length: int, features: int, width: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    dtype, kind = (torch.bfloat16, "*bf16") if precision == "bf16" else (torch.float32, "*fp32")
    sizes = (1, 1, length, features), (1, 1, length, width)
    with allow_tf32(precision == "tf32"):
        _, arguments = ops._plan_launch(*(torch.empty(size, dtype=dtype, device="meta") for size in sizes))
    for kernel in (
        ops._forward_kernel,
        ops._query_gradient_kernel,
        ops._key_gradient_kernel,
        ops._value_gradient_kernel,
    ):
        tensors = dict.fromkeys((name for name in kernel.arg_names if name.endswith("_ptr")), kind)
        tensors |= dict.fromkeys(("levels_ptr", "guard_ptr"), "*fp32")
        assembly = compile_for_hopper(kernel, tensors, {**arguments, "GUARD": True})
        assert ("mma" in assembly) == (precision != "ieee")


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
    ("batch", "heads", "length", "features", "width"),
    [(1, 1, 1, 3, 2), (2, 8, 1000, 32, 64), (1, 8, 2048, 272, 64), (3, 5, 333, 40, 100)],
)
def test_on_cuda(
    batch: int,
    heads: int,
    length: int,
    features: int,
    width: int,
    dtype: torch.dtype,
    tf32: bool,
    tolerance: float,
) -> None:
    case = Case(batch, heads, length, features, width, dtype, "cuda")
    with allow_tf32(tf32):
        case.check(tolerance)
        for name, one, other in zip(NAMES, case.fused(), case.fused(), strict=True):
            assert torch.equal(one, other), f"{name} is not the same twice"
