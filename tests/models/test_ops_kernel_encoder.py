"""Attention without a table of all pairs, beside a loop over pairs in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ctxzoo.models import ops_kernel_encoder as pairwise
from ctxzoo.models.ops_encoder import fused_attention, make_visibility_mask
from ctxzoo.models.ops_kernel_encoder import log_squared_product, squared_product_attention
from tests.references.encoder import reference_attend
from tests.support.result_shapes import ResultShapes

CPU = torch.device("cpu")
MASK = torch.tensor([[True, False, True, True, True], [False] * 5])


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def four(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, keys, importance and values: two examples, three heads, four queries and five keys."""
    return drawn(2, 3, 4, 6, seed=seed), drawn(2, 3, 5, 6, seed=1), drawn(2, 3, 5, seed=2), drawn(2, 3, 5, 2, seed=3)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("mask", [None, MASK])
def test_dot_products_equal_the_reference(mask: torch.Tensor | None, biased: bool, causal: bool) -> None:
    query, key, bias, value = four()
    visible = make_visibility_mask(mask, 4, 5, causal, CPU)
    energy = query @ key.transpose(-1, -2) / 6**0.5 + (bias.unsqueeze(-2) if biased else 0.0)
    found = fused_attention(query, key, value, mask, causal, key_bias=bias if biased else None)
    torch.testing.assert_close(found, reference_attend(energy, value, visible), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("biased", [False, True])
def test_gradients_of_dot_products(biased: bool) -> None:
    query, key, bias, value = (x.requires_grad_() for x in four())

    def function(query: Any, key: Any, bias: Any, value: Any) -> torch.Tensor:
        return fused_attention(query, key, value, MASK, True, key_bias=bias if biased else None)

    assert torch.autograd.gradcheck(function, (query, key, bias, value))


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("pairs", [1, 7, 13, 40, 2**18])
@pytest.mark.parametrize("mask", [None, MASK])
def test_squared_products_equal_the_reference(
    mask: torch.Tensor | None, pairs: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many pairs are computed at a time, of one query, of several, of several heads; and kept or not."""
    monkeypatch.setattr(pairwise, "CPU_PAIRS", pairs)
    monkeypatch.setattr(pairwise, "KEPT_PAIRS", 2 * 3 * 4 * 5 if kept else 2 * 3 * 4 * 5 - 1)
    query, key, importance, value = (x.requires_grad_() for x in four())
    visible = make_visibility_mask(mask, 4, 5, False, CPU)
    energy = log_squared_product(query, key) + importance.unsqueeze(-2)
    found = squared_product_attention(query, key, importance, value, mask)
    expected = reference_attend(energy, value, visible)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
    weights, inputs = drawn(*expected.shape, seed=4), (query, key, importance, value)
    ours, theirs = (torch.autograd.grad((x * weights).sum(), inputs) for x in (found, expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


def test_gradients_of_squared_products() -> None:
    """By differences; that of the reference, to which all others are compared, is found by autograd."""
    assert torch.autograd.gradcheck(
        lambda *given: squared_product_attention(*given, MASK), [x.requires_grad_() for x in four()]
    )


def test_products_of_zero_weigh_keys_by_importance_alone() -> None:
    _, key, importance, value = four()
    found = squared_product_attention(torch.zeros(2, 3, 1, 6).double(), key, importance, value, None)
    torch.testing.assert_close(found, importance.softmax(dim=-1).unsqueeze(-2) @ value)


@pytest.mark.parametrize("shift", [-1e30, -1e4, 1e4, 1e30])
def test_importance_of_any_size_cancels(shift: float) -> None:
    """exp would overflow or vanish: what counts is the difference to the largest, of keys that are there."""
    query, key, _, value = four()
    importance = torch.full((2, 3, 5), shift).double()
    importance[..., 1] = 1e300  # of a key that the mask hides
    mask = torch.tensor([[True, False, True, True, True]] * 2)
    found = squared_product_attention(query, key, importance, value, mask)
    torch.testing.assert_close(found, squared_product_attention(query, key, torch.zeros(2, 3, 5).double(), value, mask))


def test_a_dominant_key_takes_all() -> None:
    query, key, importance, value = (x.float() for x in four())
    importance[..., 2] = 500.0
    found = squared_product_attention(query, key, importance, value, None)
    torch.testing.assert_close(found, value[:, :, 2:3].expand_as(found))


def test_rows_without_keys_have_finite_gradients() -> None:
    mask = torch.zeros(2, 5, dtype=torch.bool)
    for shift in (0.0, 1e4):
        query, key, importance, value = (x.float().requires_grad_() for x in four())
        found = squared_product_attention(query, key, importance + shift, value, mask)
        assert not found.any()
        gradients = torch.autograd.grad(found.sum(), (query, key, importance, value))
        assert not any(gradient.any() for gradient in gradients)


def test_values_in_half_precision_are_summed_in_single() -> None:
    query, key, importance, value = (x.float() for x in four())
    value = value.bfloat16()
    for found, expected in (
        (
            squared_product_attention(query, key, importance, value, None),
            squared_product_attention(query, key, importance, value.float(), None),
        ),
        (
            fused_attention(query, key, value, None, False),
            fused_attention(query, key, value.float(), None, False),
        ),
    ):
        assert found.dtype == torch.bfloat16
        assert torch.equal(found, expected.bfloat16())


@pytest.mark.parametrize("kind", ["dot", "squared"])
def test_no_table_of_all_pairs_is_made(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairwise, "CPU_PAIRS", 2000)
    monkeypatch.setattr(pairwise, "KEPT_PAIRS", 2000)
    number = 300
    query, key, value = (torch.randn(1, 2, number, 4, requires_grad=True) for _ in range(3))
    importance = torch.randn(1, 2, number, requires_grad=True)
    mask = torch.ones(1, number, dtype=torch.bool)
    with ResultShapes() as shapes:
        if kind == "squared":
            output = squared_product_attention(query, key, importance, value, mask)
        else:
            output = fused_attention(query, key, value, mask, False, key_bias=importance)
        output.sum().backward()
    assert 0 < shapes.largest() < number * number / 4


def test_products_are_kept_for_a_backward_pass_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairwise, "CPU_PAIRS", 2000)
    query, key, value = (torch.randn(1, 2, 300, 4, requires_grad=True) for _ in range(3))
    importance = torch.randn(1, 2, 300)
    table = 2 * 300 * 300
    with ResultShapes() as shapes:
        output = squared_product_attention(query, key, importance, value, None)
    assert shapes.largest() == table
    first = torch.autograd.grad(output.sum(), (query, key, value), retain_graph=True)
    again = torch.autograd.grad(output.sum(), (query, key, value))  # what was kept is as it was
    assert all(map(torch.equal, first, again))
    with torch.no_grad(), ResultShapes() as shapes:
        torch.testing.assert_close(squared_product_attention(query, key, importance, value, None), output)
    assert shapes.largest() < table / 4


def test_a_compiled_program_needs_no_blocks() -> None:
    query, key, importance, value = four()
    compiled = torch.compile(squared_product_attention, backend="eager", fullgraph=True)
    expected = squared_product_attention(query, key, importance, value, MASK)
    torch.testing.assert_close(compiled(query, key, importance, value, MASK), expected)
