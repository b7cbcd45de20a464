"""Attention of higher order: section 4 (properties) and section 5 (dangers) of its specification, each by a test."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from ctxzoo.models.ops_encoder import fused_attention
from ctxzoo.models.ops_higher_order_encoder import (
    FactorisedState,
    anova_kernels,
    anova_scores,
    context_attention_weights,
    factorised_attention,
    modulate_query,
    pair_attention,
    pair_scores,
    windowed_pair_attention,
)
from tests.references.higher_order_encoder import (
    reference_anova,
    reference_contextual_attention,
    reference_factorised_attention,
    reference_pair_attention,
)
from tests.support.result_shapes import ResultShapes

BATCH, HEADS, LENGTH, SIZE, WIDTH = 2, 2, 6, 4, 3
SCORES = ("trilinear", "volume")


def tensors(length: int = LENGTH, dtype: torch.dtype = torch.float64, seed: int = 1) -> list[torch.Tensor]:
    """q, k, v, c, u."""
    generator = torch.Generator().manual_seed(seed)
    sizes = (SIZE, SIZE, WIDTH, SIZE, WIDTH)
    return [
        torch.randn(BATCH, HEADS, length, size, generator=generator, dtype=torch.float64).to(dtype) for size in sizes
    ]


def padding(length: int = LENGTH) -> torch.Tensor:
    """The first sequence without its last two, the second without its second."""
    mask = torch.ones(BATCH, length, dtype=torch.bool)
    mask[0, -2:] = False
    mask[1, 1] = False
    return mask


def positive(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.elu(x) + 1


def factorised(
    order: int = 3, length: int = LENGTH, dtype: torch.dtype = torch.float64
) -> tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
    generator = torch.Generator().manual_seed(order)
    query, *keys = (
        positive(torch.randn(BATCH, HEADS, length, SIZE, generator=generator, dtype=torch.float64)).to(dtype)
        for _ in range(order)
    )
    values = [
        torch.randn(BATCH, HEADS, length, WIDTH, generator=generator, dtype=torch.float64).to(dtype) for _ in keys
    ]
    return query, keys, values


def close(found: torch.Tensor, expected: torch.Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(found.double(), expected.double(), rtol=tolerance, atol=tolerance)


# --- Properties, by their number ---


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_01_second_keys_and_values_of_one_give_softmax_attention(padded: bool, causal: bool) -> None:
    query, key, value, second, product = tensors()
    mask = padding() if padded else None
    found, _ = pair_attention(query, key, value, torch.ones_like(second), torch.ones_like(product), mask, causal)
    close(found, fused_attention(query, key, value, mask, causal), 1e-9)


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_02_the_keys_of_a_pair_may_change_places(score: Any, distinct: bool) -> None:
    query, key, value, second, product = tensors()
    settings: dict[str, Any] = {"mask": padding(), "score": score, "distinct": distinct}
    found, weights = pair_attention(query, key, value, second, product, **settings)
    swapped, turned = pair_attention(query, second, product, key, value, **settings)
    close(swapped, found)
    close(turned.mT, weights)


@pytest.mark.parametrize("score", SCORES)
def test_03_weights_of_pairs_sum_to_one_and_outputs_follow_a_permutation(score: Any) -> None:
    inputs = tensors()
    found, weights = pair_attention(*inputs, padding(), score=score)
    assert (weights >= 0).all()
    assert (weights[0, ..., -2:, :] == 0).all()
    assert (weights[0, ..., -2:] == 0).all()
    close(weights.sum((-1, -2)), torch.ones(BATCH, HEADS, LENGTH))
    order = torch.randperm(LENGTH, generator=torch.Generator().manual_seed(0))
    close(pair_attention(*(x[:, :, order] for x in inputs), padding()[:, order], score=score)[0], found[:, :, order])
    query, keys, values = factorised()
    found, _ = factorised_attention(query, keys, values, distinct=True)
    again, _ = factorised_attention(
        query[:, :, order], [x[:, :, order] for x in keys], [x[:, :, order] for x in values], distinct=True
    )
    close(again, found[:, :, order])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_03_pairs_equal_the_explicit_double_sum(score: Any, distinct: bool, padded: bool, causal: bool) -> None:
    inputs = tensors(length=4)
    mask = padding(4) if padded else None
    settings: dict[str, Any] = {"score": score, "distinct": distinct}
    expected = reference_pair_attention(*inputs, mask, causal, **settings)
    close(pair_attention(*inputs, mask, causal, **settings)[0], expected, 1e-6 if score == "volume" else 1e-10)
    single = pair_attention(*(x.float() for x in inputs), mask, causal, **settings)[0]
    close(single, expected, 1e-4)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_03_windows_equal_the_explicit_double_sum(score: Any, distinct: bool, padded: bool) -> None:
    inputs = tensors(length=5)
    mask = padding(5) if padded else None
    settings: dict[str, Any] = {"score": score, "distinct": distinct}
    expected = reference_pair_attention(*inputs, mask, window=(3, 2), **settings)
    close(windowed_pair_attention(*inputs, (3, 2), mask, **settings), expected, 1e-6 if score == "volume" else 1e-10)
    # A window as wide as the sequence leaves causal attention.
    expected = pair_attention(*inputs, mask, True, **settings)[0]
    close(windowed_pair_attention(*inputs, (5, 9), mask, **settings), expected, 1e-6 if score == "volume" else 1e-10)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_04_products_of_sums_equal_the_explicit_sum_over_tuples(
    order: int, distinct: bool, padded: bool, causal: bool
) -> None:
    query, keys, values = factorised(order, length=5)
    mask = padding(5) if padded else None
    expected = reference_factorised_attention(query, keys, values, mask, causal, distinct=distinct)
    for size in (1, 2, 5):
        found, _ = factorised_attention(query, keys, values, mask, causal, distinct=distinct, chunk_size=size)
        close(found, expected)
    single, _ = factorised_attention(
        query.float(), [x.float() for x in keys], [x.float() for x in values], mask, causal, distinct=distinct
    )
    close(single, expected, 1e-3 if order == 4 and distinct else 1e-4)


def test_05_with_features_of_one_distinct_attention_is_the_mean_over_pairs_of_different_keys() -> None:
    _, _, values = factorised()
    one = torch.ones(BATCH, HEADS, LENGTH, 1, dtype=torch.float64)
    value = values[0]
    found, _ = factorised_attention(one, [one, one], [value, value], distinct=True)
    total, squares = value.sum(2), value.square().sum(2)
    # ((sum x)^2 - sum x^2) / 2 = sum over j < l of x_j x_l
    expected = (total.square() - squares) / (LENGTH * (LENGTH - 1))
    close(found, expected.unsqueeze(2).expand_as(found))
    loops = sum(value[:, :, j] * value[:, :, m] for j in range(LENGTH) for m in range(j))
    close(torch.as_tensor(loops), (total.square() - squares) / 2)


def test_06_anova_kernels_of_small_vectors() -> None:
    p, x = torch.tensor([1.0, 2.0, 3.0]), torch.ones(3)
    assert [float(kernel) for kernel in anova_kernels(p, x, 4)] == [1, 6, 11, 6, 0]


def test_06_the_dynamic_programme_equals_the_sum_over_subsets_and_is_linear_in_each_number() -> None:
    generator = torch.Generator().manual_seed(0)
    left, right = torch.randn(2, 5, 7, generator=generator, dtype=torch.float64)
    found = anova_kernels(left, right, 4)
    for order, kernel in enumerate(found):
        close(kernel, reference_anova(left, right, order))
        close(anova_kernels(right, left, 4)[order], kernel)
    for place in range(7):
        changed = []
        for value in (1.0, 2.0, 3.0):
            numbers = left.clone()
            numbers[:, place] = value
            changed.append(anova_kernels(numbers, right, 4))
        for low, mean, high in zip(*changed, strict=True):
            close((low + high) / 2, mean)


@pytest.mark.parametrize("order", [1, 2, 3, 6])
def test_06_anova_scores_equal_the_sum_over_subsets(order: int) -> None:
    query, key, *_ = tensors()
    strengths = torch.randn(HEADS, order - 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = torch.zeros(BATCH, HEADS, LENGTH, LENGTH, dtype=torch.float64)
    for t in range(1, min(order, SIZE) + 1):
        kernel = reference_anova(query.unsqueeze(-2), key.unsqueeze(-3), t) / math.sqrt(math.comb(SIZE, t))
        expected += kernel if t == 1 else strengths[:, t - 2, None, None] * kernel
    close(anova_scores(query, key, strengths), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("padded", [False, True])
def test_07_contextual_attention_of_strength_zero_is_softmax_attention_bit_for_bit(
    padded: bool, dtype: torch.dtype
) -> None:
    query, key, value, second, _ = tensors(dtype=dtype)
    mask = padding() if padded else None
    modulation = fused_attention(query, second, second, mask, False)
    modulated = modulate_query(query, modulation, torch.zeros(HEADS, dtype=dtype))
    assert torch.equal(
        fused_attention(modulated, key, value, mask, False), fused_attention(query, key, value, mask, False)
    )


def test_07_a_single_context_token_gives_its_third_order_scores() -> None:
    query, key, _, second, _ = tensors()
    single = 3
    weights = torch.zeros(BATCH, HEADS, LENGTH, LENGTH, dtype=torch.float64)
    weights[..., single] = 1
    strength = torch.tensor([0.7, -1.3], dtype=torch.float64)
    modulated = modulate_query(query, weights @ second, strength)
    third = torch.einsum("bhid,bhjd,bhd->bhij", query, key, second[:, :, single])
    expected = query @ key.mT + strength[:, None, None] * third
    close(modulated @ key.mT, expected)


@pytest.mark.parametrize("causal", [False, True])
def test_07_contextual_attention_equals_the_third_order_scores_averaged_over_the_context(
    causal: bool,
) -> None:
    query, key, value, second, _ = tensors()
    mask = padding()
    strength = torch.tensor([0.7, -1.3], dtype=torch.float64)
    weights = context_attention_weights(query, key, mask, causal)
    modulation = fused_attention(query, key, second, mask, causal)
    close(modulation, weights @ second)
    visible = mask[:, None, None, :]
    if causal:
        visible = visible & torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    expected = reference_contextual_attention(query, key, value, second, weights, strength, visible)
    close(fused_attention(modulate_query(query, modulation, strength), key, value, mask, causal), expected)


def test_08_volumes_of_unit_vectors() -> None:
    first, second, third = torch.eye(3, dtype=torch.float64)

    def volume(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> float:
        return float(pair_scores(a[None], b[None, None], c[None, None], "volume"))

    assert volume(first, first, first) == pytest.approx(1)
    assert volume(first, first, second) == pytest.approx(1)
    assert volume(first, second, third) == pytest.approx(0, abs=2e-6)
    a, b, c = torch.randn(3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for factor in (-3.0, 0.5):
        assert volume(factor * a, b, c) == pytest.approx(abs(factor) * volume(a, b, c))
        assert volume(a, factor * b, c) == pytest.approx(abs(factor) * volume(a, b, c))
        assert volume(a, b, factor * c) == pytest.approx(abs(factor) * volume(a, b, c))
    assert volume(a, b, c) == pytest.approx(float(((a @ b) * c - (a @ c) * b + (b @ c) * a).norm()))
    # Linearly dependent vectors have the greatest volume, the product of the lengths.
    assert volume(a, 2 * a, -a) == pytest.approx(2 * float(a.norm()) ** 3)


def outputs(
    kind: str, inputs: list[torch.Tensor], mask: torch.Tensor | None = None, causal: bool = True
) -> torch.Tensor:
    """The output of a kind of attention; a window is causal always."""
    query, key, value, second, product = inputs
    strength = torch.tensor([0.5, -0.9], dtype=query.dtype)
    if kind in SCORES:
        return pair_attention(*inputs, mask, causal, score=kind)[0]  # type: ignore[arg-type]
    if kind == "windowed":
        return windowed_pair_attention(*inputs, (3, 2), mask)
    if kind.startswith("factorised"):
        settings: dict[str, Any] = {"distinct": "distinct" in kind, "chunk_size": 4}
        keys, values = [positive(key), positive(second)], [value, product]
        return factorised_attention(positive(query), keys, values, mask, causal, **settings)[0]
    if kind == "anova":
        energy = anova_scores(query, key, strength[:, None])
        hidden = torch.ones_like(energy, dtype=torch.bool).triu(1) if causal else torch.zeros((), dtype=torch.bool)
        return energy.masked_fill(hidden, -torch.inf).softmax(-1) @ value
    modulation = fused_attention(query, second, second, mask, causal)
    return fused_attention(modulate_query(query, modulation, strength), key, value, mask, causal)


@pytest.mark.parametrize("kind", [*SCORES, "windowed", "factorised", "factorised distinct", "anova", "contextual"])
def test_09_a_changed_token_changes_no_output_before_it_by_a_single_bit(kind: str) -> None:
    inputs = tensors(length=9)
    before = outputs(kind, inputs)
    for place in (1, 5, 8):
        changed = [tensor.clone() for tensor in inputs]
        for tensor in changed:
            tensor[:, :, place] = 3 * torch.randn(tensor[:, :, place].shape, dtype=torch.float64)
        after = outputs(kind, changed)
        assert torch.equal(after[:, :, :place], before[:, :, :place])
        assert not torch.equal(after[:, :, place], before[:, :, place])


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_10_a_stream_of_single_tokens_equals_the_whole_with_a_state_of_fixed_size(order: int, distinct: bool) -> None:
    query, keys, values = factorised(order, length=12)
    mask = padding(12)
    settings: dict[str, Any] = {"causal": True, "distinct": distinct, "with_state": True}
    whole, last = factorised_attention(query, keys, values, mask, chunk_size=5, **settings)
    state: FactorisedState | None = None
    sizes = set()
    for place in range(12):
        one = slice(place, place + 1)
        now = [x[:, :, one] for x in keys], [x[:, :, one] for x in values]
        found, state = factorised_attention(query[:, :, one], *now, mask[:, one], state=state, **settings)
        close(found, whole[:, :, one])
        assert state is not None
        sizes.add(state[0].shape)
    assert last is not None
    close(state[0], last[0])  # type: ignore[index]
    number = {2: (1, 1), 3: (2, 3), 4: (3, 7)}[order][distinct]
    assert sizes == {(BATCH, HEADS, number, SIZE, WIDTH + 1)}


def test_10_fewer_queries_than_keys_are_the_last_ones() -> None:
    inputs = tensors(length=9)
    for kind in (*SCORES, "factorised distinct", "contextual"):
        whole = outputs(kind, inputs)
        last = outputs(kind, [inputs[0][:, :, -4:], *inputs[1:]])
        close(last, whole[:, :, -4:], 1e-9)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("kind", "bound"), [("contextual", 4.5), ("factorised", 2.5), ("factorised distinct", 2.5)])
def test_10_what_twice_the_length_computes(kind: str, bound: float, causal: bool) -> None:
    """Numbers that are written and, within products, operations; seconds are those of the benchmark."""
    numbers, operations = {}, {}
    for length in (512, 1024):
        given = [x.float() for x in tensors(length)]
        with ResultShapes() as shapes:
            outputs(kind, given, causal=causal)
        numbers[length] = shapes.total()
        with FlopCounterMode(display=False) as counter:
            outputs(kind, given, causal=causal)
        operations[length] = counter.get_total_flops()
    assert 1.5 * numbers[512] < numbers[1024] < bound * numbers[512]
    assert 1.5 * operations[512] < operations[1024] < bound * operations[512]


@pytest.mark.parametrize("kind", [*SCORES, "windowed", "factorised", "factorised distinct", "anova", "contextual"])
def test_11_gradients(kind: str) -> None:
    mask = padding(4)[:, :4] if kind != "anova" else None
    inputs = [x[:, :, :4].requires_grad_() for x in tensors()]
    expected = outputs(kind, inputs, mask)
    assert expected.isfinite().all()
    assert torch.autograd.gradcheck(lambda *x: outputs(kind, list(x), mask), inputs, atol=1e-4, fast_mode=True)


# --- Dangers and bad input ---


def test_scores_over_both_axes_lose_one_maximum_and_do_not_overflow() -> None:
    inputs = tensors(dtype=torch.float32)
    found, weights = pair_attention(inputs[0] * 100, inputs[1] * 10, inputs[2], inputs[3] * 10, inputs[4])
    assert found.isfinite().all()
    close(weights.sum((-1, -2)), torch.ones(BATCH, HEADS, LENGTH), 1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_distinct_attention_to_one_token_is_zero_and_so_is_attention_to_padding_alone(causal: bool) -> None:
    query, keys, values = factorised()
    mask = torch.zeros(BATCH, LENGTH, dtype=torch.bool)
    mask[0, 2] = True
    for dtype in (torch.float32, torch.float64):
        cast = [x.to(dtype) for x in keys], [x.to(dtype) for x in values]
        found, _ = factorised_attention(query.to(dtype), *cast, mask, causal, distinct=True)
        assert (found == 0).all()
        found, _ = factorised_attention(query.to(dtype), *cast, mask, causal)
        assert (found[1] == 0).all()
        assert found.isfinite().all()
    for score in SCORES:
        inputs = tensors()
        assert (pair_attention(*inputs, mask, causal, distinct=True, score=score)[0] == 0).all()  # type: ignore[arg-type]
        found, _ = pair_attention(*inputs, mask, causal, score=score)  # type: ignore[arg-type]
        assert (found[1] == 0).all()
        assert (windowed_pair_attention(*inputs, (2, 2), mask, score=score, distinct=True) == 0).all()  # type: ignore[arg-type]


def test_distinct_denominators_that_are_rounding_are_clamped() -> None:
    # One key has nearly all of every feature: what is left for pairs of different keys is rounding.
    key = torch.full((1, 1, 4, 2), 1e-5)
    key[..., 0, :] = 1000.0
    value = torch.ones(1, 1, 4, 1)
    found, _ = factorised_attention(torch.ones(1, 1, 1, 2), [key, key], [value, value], distinct=True)
    assert found.isfinite().all()
    assert float(found.abs().max()) < 2


def test_distinct_denominators_that_rounding_makes_negative_are_clamped() -> None:
    generator = torch.Generator().manual_seed(0)
    keys = [torch.full((1, 2000, 4, 1), 1e-5) for _ in range(3)]
    for key in keys:
        key[..., 0, :] = 1000 * torch.rand(2000, 1, generator=generator)
    values = [torch.randn(1, 2000, 4, 1, generator=generator).clamp(-2, 2) for _ in range(3)]
    a, b, c = (key.sum(dim=2) for key in keys)
    ab, ac, bc = ((left * right).sum(dim=2) for left, right in combinations(keys, 2))
    left = a * b * c - (ab * c + ac * b + bc * a) + 2 * (keys[0] * keys[1] * keys[2]).sum(dim=2)
    assert 0.1 < float(left.lt(0).float().mean()) < 0.9
    found, _ = factorised_attention(torch.ones(1, 2000, 1, 1), keys, values, distinct=True)
    assert found.isfinite().all()
    assert float(found.abs().max()) < 16  # twice the largest product of three values


def test_products_of_sums_do_not_grow_with_the_length() -> None:
    length = 3000
    key, one = torch.full((1, 1, length, 1), 3e17), torch.ones(1, 1, length, 1)
    for causal in (False, True):
        # The sums, multiplied, are above the greatest number in single precision.
        found, _ = factorised_attention(one, [key] * 2, [one] * 2, None, causal, chunk_size=500)
        torch.testing.assert_close(found, one)


def test_the_volume_has_a_gradient_where_it_vanishes() -> None:
    vectors = [row.reshape(1, 1, 1, 3).clone().requires_grad_() for row in torch.eye(3)]
    pair_scores(vectors[0], vectors[1].unsqueeze(2), vectors[2].unsqueeze(2), "volume").sum().backward()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in vectors)


def test_no_tokens_give_an_empty_output() -> None:
    query, keys, values = factorised()
    for causal in (False, True):
        none = [x[:, :, :0] for x in keys], [x[:, :, :0] for x in values]
        assert factorised_attention(query[:, :, :0], *none, None, causal)[0].shape == (BATCH, HEADS, 0, WIDTH)
        for kind in (*SCORES, "windowed", "anova", "contextual"):
            found = outputs(kind, [x[:, :, :0] for x in tensors()], causal=causal)
            assert found.shape == (BATCH, HEADS, 0, WIDTH)


def test_orders_of_wide_heads_have_one_scale() -> None:
    left, right = torch.randn(2, 20_000, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for t, kernel in enumerate(anova_kernels(left, right, 4)[1:], start=1):
        assert 0.95 < float(kernel.std()) / math.sqrt(math.comb(64, t)) < 1.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keys": 0}, "0 keys and 0 values; expected as many of both, one to three"),
        ({"keys": 4}, "4 keys and 4 values"),
        ({"with_state": True}, "causal=False"),
        ({"causal": True, "longer": True}, "6 causal queries of 3 keys; expected as many keys, or more"),
    ],
)
def test_impossible_calls_are_refused(options: dict[str, Any], message: str) -> None:
    query, keys, values = factorised()
    number = options.pop("keys", 2)
    keys, values = (keys * 2)[:number], (values * 2)[:number]
    if options.pop("longer", False):
        keys, values = [x[:, :, :3] for x in keys], [x[:, :, :3] for x in values]
    with pytest.raises(ValueError, match=message):
        factorised_attention(query, keys, values, **options)


def test_negative_orders_are_refused() -> None:
    query, key, *_ = tensors()
    with pytest.raises(ValueError, match="order of an ANOVA kernel is -1"):
        anova_kernels(query, key, -1)
