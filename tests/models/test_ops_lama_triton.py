"""The kernels of LAMA's heads beside the plain form in float64; see `tests.support.triton_interpreter`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.dynamic_module_utils import get_imports

from ctxzoo.models import ops_lama_triton as ops
from ctxzoo.models.modeling_lama import LowRankAttention
from ctxzoo.models.ops_lama import low_rank_heads
from ctxzoo.models.ops_lama_triton import low_rank_heads_forward
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


class Case:
    """Random inputs of `low_rank_heads`, and gradients of its outputs; text 0 of several has no word."""

    def __init__(
        self,
        batch: int,
        length: int,
        width: int,
        heads: int,
        *,
        rank: int = 1,
        rows: int | None = None,
        gated: bool = False,
        normalize: bool = True,
        scale: float = 1.0,
        size: float = 1.0,
    ) -> None:
        generator = torch.Generator().manual_seed(batch + length + width + heads)

        def draw(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        self.tensors = {"states": draw(batch, length, width)}
        if rows is not None:
            self.tensors |= {"weight": draw(rows, width) / width**0.5, "bias": draw(rows)}
        self.tensors["factors"] = size * draw(rows or width, heads * rank) / (rows or width) ** 0.5
        if gated:
            self.tensors["gate"] = draw(batch, heads * rank)
        self.mask = torch.rand(batch, length, generator=generator) > 0.3
        self.mask[-1, -1] = True
        if batch > 1:
            self.mask[0] = False
        self.options: dict[str, Any] = {"rank": rank, "l2_normalize": normalize, "logit_scale": scale}
        self.gradients = draw(batch, heads, width), draw(batch, length, heads)

    def run(
        self, dtype: torch.dtype, implementation: str, device: str = "cpu", of: tuple[bool, bool] = (True, True)
    ) -> dict[str, torch.Tensor]:
        """Return the sums, the weights, and gradients from those of the outputs that `of` names."""
        tensors = {name: x.to(device, dtype, copy=True).requires_grad_() for name, x in self.tensors.items()}
        projection = (tensors["weight"], tensors["bias"]) if "weight" in tensors else None
        outputs = low_rank_heads(
            tensors["states"],
            projection,
            tensors["factors"],
            tensors.get("gate"),
            self.mask.to(device),
            **self.options,
            implementation=implementation,  # type: ignore[arg-type]
        )
        pairs = [(x, g.to(x)) for x, g, counts in zip(outputs, self.gradients, of, strict=True) if counts]
        roots, values = zip(*pairs, strict=True)
        gradients = torch.autograd.grad(roots, list(tensors.values()), values)
        return {"sums": outputs[0], "A": outputs[1], **dict(zip(tensors, gradients, strict=True))}

    def check(
        self,
        tolerance: float = 1e-5,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
        of: tuple[bool, bool] = (True, True),
    ) -> None:
        self.tensors = {name: x.to(dtype).double() for name, x in self.tensors.items()}  # what the kernels read
        expected = self.run(torch.float64, "plain", of=of)
        for name, got in self.run(dtype, "triton", device, of).items():
            wanted = expected[name].detach()
            assert got.dtype == (torch.float32 if name == "A" else dtype), name
            scale = wanted.abs().max().item()
            torch.testing.assert_close(
                got.detach().double().cpu(),
                wanted,
                rtol=tolerance,
                atol=tolerance * scale,
                msg=lambda text, name=name: f"{name}: {text}",
            )


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TRITON, reason="needs Triton")
@pytest.mark.skipif(INTERPRETED, reason="this is the process that it starts")
def test_under_the_interpreter() -> None:
    run_under_the_interpreter(__file__, compiled=6)


@interpreted
@pytest.mark.parametrize(
    ("batch", "length", "width", "heads", "options"),
    [
        (1, 2, 5, 2, {}),
        (3, 33, 20, 5, {"rows": 7}),
        (2, 70, 40, 17, {"rows": 35, "gated": True, "rank": 3}),
        (2, 300, 6, 3, {"rank": 2}),  # words divided among programs
        (1, 20, 70, 1, {"normalize": False, "gated": True}),  # one head, and two blocks of states
        (2, 16, 16, 16, {"normalize": False, "scale": 30.0, "rows": 16}),
    ],
)
def test_equals_the_plain_form(batch: int, length: int, width: int, heads: int, options: dict[str, Any]) -> None:
    Case(batch, length, width, heads, **options).check()


@interpreted
def test_a_text_of_one_word_is_that_word() -> None:
    case = Case(1, 1, 5, 2, rows=3)
    found = case.run(torch.float32, "triton")
    states = case.tensors["states"].float()
    assert torch.equal(found["A"], torch.ones(1, 1, 2))
    torch.testing.assert_close(found["sums"], states.expand(1, 2, 5))
    torch.testing.assert_close(found["states"], case.gradients[0].float().sum(dim=1, keepdim=True))
    torch.testing.assert_close(found["factors"], torch.zeros(3, 2), rtol=0, atol=1e-5)


@interpreted
def test_small_scores_keep_their_digits() -> None:
    # A norm over heads makes them as large as others.
    Case(2, 9, 6, 3, size=1e-4, rows=4).check()
    Case(2, 9, 6, 3, size=30.0, rows=4).check(1e-4)


@interpreted
@pytest.mark.parametrize("of", [(True, False), (False, True)])
def test_gradients_of_one_output_alone(of: tuple[bool, bool]) -> None:
    Case(2, 9, 6, 3, rows=4, gated=True).check(of=of)


@interpreted
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 5e-2), (torch.float16, 5e-3)])
def test_equals_the_plain_form_in_low_precision(dtype: torch.dtype, tolerance: float) -> None:
    Case(2, 33, 20, 5, rows=7, gated=True).check(tolerance, dtype)


@interpreted
def test_padding_does_not_matter() -> None:
    case = Case(3, 33, 20, 5, rows=7)
    before = case.run(torch.float32, "triton")
    assert not before["A"][~case.mask].any()
    assert not before["sums"][0].any()  # a text without words
    case.tensors["states"][~case.mask] = 1e3
    for name, got in case.run(torch.float32, "triton", of=(True, False)).items():
        if name in ("sums", "A"):
            assert torch.equal(got, before[name]), name
        assert got.isfinite().all(), name


@interpreted
def test_the_layer_runs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = LowRankAttention(6, 3, 2, l2_normalize=True, logit_scale=1.0, word_size=4)
    inputs = torch.randn(2, 9, 6), torch.randn(2, 6), torch.arange(9).expand(2, 9) < 7, torch.nn.Linear(6, 4)
    expected = layer(*inputs)
    called: list[bool] = []

    def run_noted(*arguments: Any) -> tuple[torch.Tensor, torch.Tensor]:
        called.append(True)
        return low_rank_heads_forward(*arguments)

    monkeypatch.setattr("ctxzoo.models.ops_lama.low_rank_heads_forward", run_noted)
    layer(*inputs)
    assert not called  # auto does not take them
    layer.implementation = "triton"
    for got, wanted in zip(layer(*inputs), expected, strict=True):
        torch.testing.assert_close(got, wanted)
    assert called


@interpreted
def test_no_words_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="no empty states"):
        low_rank_heads(
            torch.zeros(2, 0, 4), None, torch.zeros(4, 2), None, torch.zeros(2, 0, dtype=torch.bool),
            rank=1, l2_normalize=True, logit_scale=1.0, implementation="triton",
        )  # fmt: skip


@interpreted
def test_second_derivatives_are_refused() -> None:
    states = torch.randn(1, 3, 4, requires_grad=True)
    mask = torch.ones(1, 3, dtype=torch.bool)
    sums = low_rank_heads(
        states, None, torch.randn(4, 2), None, mask,
        rank=1, l2_normalize=True, logit_scale=1.0, implementation="triton",
    )[0]  # fmt: skip
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.grad(sums.sum(), states, create_graph=True)


def test_unknown_implementation() -> None:
    with pytest.raises(ValueError, match="'fast' is none of auto, plain, triton"):
        Case(1, 2, 4, 2).run(torch.float32, "fast")


@pytest.mark.skipif(INTERPRETED, reason="there the CPU is available")
def test_cpu_is_not_available() -> None:
    with pytest.raises(ValueError, match="needs the package triton and a CUDA tensor in float32 or half precision"):
        Case(1, 2, 4, 2).run(torch.float32, "triton")


def test_checkpoints_do_not_ask_for_triton() -> None:
    assert "triton" not in get_imports(ops.__file__)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("precision", ["ieee", "tf32", "bf16"])
@pytest.mark.parametrize(("length", "ranks", "heads", "width"), [(4096, 100, 30, 100), (5, 3, 70, 200)])
def test_compiles(
    precision: str,
    length: int,
    ranks: int,
    heads: int,
    width: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    dtype, kind = (torch.bfloat16, "*bf16") if precision == "bf16" else (torch.float32, "*fp32")
    sizes = (2, length, ranks), (2, length, width), (2, ranks, heads)
    with allow_tf32(precision == "tf32"):
        arguments = ops._choose_kernel_arguments(*(torch.empty(size, dtype=dtype, device="meta") for size in sizes))
    arguments |= {"NORMALIZE": True, "SUMS": True, "WEIGHTS": True}
    inputs = ("words_ptr", "states_ptr", "factors_ptr", "of_sums_ptr", "of_scores_ptr")
    tensors = {**dict.fromkeys(inputs, kind), "mask_ptr": "*u8", "scale": "fp32"}
    for kernel in (ops._forward_kernel, ops._score_gradient_kernel):
        assert ("mma" in compile_for_hopper(kernel, tensors, arguments)) == (precision != "ieee")


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize(
    ("dtype", "tf32", "tolerance"),
    [
        (torch.float32, False, 5e-5),
        (torch.float32, True, 2e-2),
        (torch.float16, False, 2e-2),
        (torch.bfloat16, False, 6e-2),
    ],
)
@pytest.mark.parametrize(
    ("batch", "length", "width", "heads", "options"),
    [
        (1, 2, 5, 2, {}),
        (16, 4096, 100, 30, {"rows": 100}),
        (64, 230, 200, 15, {"rows": 16, "gated": True, "rank": 4}),
        (3, 1000, 520, 100, {}),
    ],
)
def test_on_cuda(
    batch: int,
    length: int,
    width: int,
    heads: int,
    options: dict[str, Any],
    dtype: torch.dtype,
    tf32: bool,
    tolerance: float,
) -> None:
    case = Case(batch, length, width, heads, **options)
    with allow_tf32(tf32):
        case.check(tolerance, dtype, "cuda")
        one, other = (case.run(dtype, "triton", "cuda") for _ in range(2))
    for name, value in one.items():
        assert torch.equal(value, other[name]), f"{name} is not the same twice"
