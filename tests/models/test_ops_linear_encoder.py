"""Attention in linear time: section 4 (properties) and section 5 (dangers) of its specification, each by a test."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from ctxzoo.models.ops_linear_encoder import (
    FEATURE_MAPS,
    Features,
    LinearState,
    default_num_features,
    draw_projection,
    feature_map,
    feature_values,
    linear_attention,
    linear_attention_weights,
    log_importance,
)
from tests.references.linear_encoder import reference_linear_attention
from tests.support.result_shapes import ResultShapes

POSITIVE = [kind for kind in FEATURE_MAPS if kind != "trig"]
SMALL = 0.3  # of inputs whose sums of signed features are not next to 0
BATCH, HEADS, LENGTH, SIZE, WIDTH, FEATURES = 2, 2, 11, 4, 3, 8


def projections(count: int, size: int, seed: int = 0, orthogonal: bool = True, heads: int = HEADS) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if not orthogonal:
        return torch.randn(heads, count, size, generator=generator).double()
    return torch.stack([draw_projection(count, size, generator) for _ in range(heads)]).double()


def inputs(
    length: int = LENGTH, size: int = SIZE, scale: float = 1.0, dtype: torch.dtype = torch.float64, seed: int = 1
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = ((BATCH, HEADS, length, size),) * 2 + ((BATCH, HEADS, length, WIDTH),)
    query, key, value = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return (scale * query).to(dtype), (scale * key).to(dtype), value.to(dtype)


def padding(length: int = LENGTH) -> torch.Tensor:
    """The first sequence without its last three, the second without its second."""
    mask = torch.ones(BATCH, length, dtype=torch.bool)
    mask[0, -3:] = False
    mask[1, 1] = False
    return mask


def features(
    query: torch.Tensor, key: torch.Tensor, kind: str, p: float | None = 2.0, count: int = FEATURES, seed: int = 0
) -> tuple[Features, Features]:
    projection = projections(count, query.size(-1), seed).to(query.dtype)
    of_query, of_key = feature_map(query, kind, projection), feature_map(key, kind, projection)
    return of_query, of_key if p is None else of_key._replace(offset=of_key.offset + log_importance(key, p))


def attended(*arguments: Any, p: float = 2.0, **options: Any) -> torch.Tensor:
    """The output for queries, keys, values and the name of a feature map, favor where it is missing."""
    query, key, value, *kind = arguments
    return linear_attention(*features(query, key, *(kind or ["favor"]), p), value, **options)[0]


def softmax_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(query, key, value)


# --- Properties, by their number ---


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("kind", FEATURE_MAPS)
def test_01_sums_over_keys_equal_the_matrix_of_weights(kind: str, padded: bool, causal: bool) -> None:
    query, key, value = inputs(scale=SMALL if kind == "trig" else 1.0)
    mask = padding() if padded else None
    pair = features(query, key, kind)
    expected = reference_linear_attention(*pair, value, mask, causal)
    found = linear_attention(*pair, value, mask, causal, chunk_size=4)[0]
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(linear_attention_weights(*pair, mask, causal) @ value, expected, rtol=1e-10, atol=1e-10)
    single = features(query.float(), key.float(), kind)
    found = linear_attention(*single, value.float(), mask, causal, chunk_size=4)[0]
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["favor", "hyperbolic", "trig"])
def test_02_products_of_features_are_unbiased_for_the_rbf_kernel(kind: str) -> None:
    draws, size = 100_000, 4
    generator = torch.Generator().manual_seed(5)
    x, y = torch.nn.functional.normalize(torch.randn(2, size, generator=generator, dtype=torch.float64), dim=1)
    kernel = math.exp(-float((x - y).square().sum()) / (2 * math.sqrt(size)))
    # Each draw is a head with one frequency.
    projection = torch.randn(draws, 1, size, generator=generator, dtype=torch.float64)
    phi_x, phi_y = (
        feature_values(feature_map(z.expand(1, draws, 1, size), kind, projection)).squeeze() for z in (x, y)
    )
    products = phi_x * phi_y
    products = products.reshape(draws, -1).sum(dim=1)
    error = float(products.std()) / math.sqrt(draws)
    assert abs(float(products.mean()) - kernel) < 4 * error
    assert error < 0.01 * kernel  # or the check would say nothing


def test_02_orthogonal_projections_are_unbiased_too() -> None:
    generator = torch.Generator().manual_seed(6)
    size, draws = 4, 10_000
    x, y = torch.nn.functional.normalize(torch.randn(2, size, generator=generator, dtype=torch.float64), dim=1)
    kernel = math.exp(-float((x - y).square().sum()) / (2 * math.sqrt(size)))
    projection = torch.stack([draw_projection(size, size, generator) for _ in range(draws)]).double()
    phi_x, phi_y = (feature_values(feature_map(z.expand(1, draws, 1, size), "favor", projection)) for z in (x, y))
    products = (phi_x * phi_y).sum(dim=-1).squeeze()
    assert abs(float(products.mean()) - kernel) < 4 * float(products.std()) / math.sqrt(draws)


def test_02_the_hyperbolic_map_has_less_variance_than_favor() -> None:
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(2, 4, generator=generator, dtype=torch.float64) * 0.8
    projection = torch.randn(50_000, 1, 4, generator=generator, dtype=torch.float64)
    deviations = []
    for kind in ("favor", "hyperbolic"):
        phi_x, phi_y = (feature_values(feature_map(z.expand(1, 50_000, 1, 4), kind, projection)) for z in x)
        deviations.append(float((phi_x * phi_y).sum(dim=-1).std()))
    assert deviations[1] < 0.8 * deviations[0]


def test_02_the_variance_of_favor_grows_with_the_exponential_of_the_length_of_both() -> None:
    """Of one feature, relative to the squared kernel: exp(||x' + y'||^2) - 1."""
    generator = torch.Generator().manual_seed(8)
    projection = torch.randn(400_000, 1, 4, generator=generator, dtype=torch.float64)
    for length in (0.4, 0.7, 1.0):
        x = length * torch.tensor([[1.0, 0, 0, 0], [0.6, 0.8, 0, 0]], dtype=torch.float64)
        phi_x, phi_y = (feature_values(feature_map(z.expand(1, 400_000, 1, 4), "favor", projection)) for z in x)
        products = (phi_x * phi_y).flatten()
        both = float(x.sum(dim=0).square().sum()) / math.sqrt(4)
        assert float(products.var() / products.mean() ** 2) == pytest.approx(math.expm1(both), rel=0.1)


def test_03_favor_approaches_softmax_attention_as_the_root_of_the_features() -> None:
    query, key, value = inputs(length=32, size=16, scale=0.5)
    exact = softmax_attention(query, key, value)
    errors = []
    for count in (16, 256, 4096):
        found = [
            float(
                (linear_attention(*features(query, key, "favor", count=count, seed=s), value)[0] - exact).abs().mean()
            )
            for s in range(5)
        ]
        errors.append(sum(found) / len(found))
    # Sixteen times the features: a quarter of the error.
    assert 2.5 < errors[0] / errors[1] < 6.5
    assert 2.5 < errors[1] / errors[2] < 6.5


def test_03_orthogonal_projections_beat_independent_ones_over_twenty_seeds() -> None:
    query, key, value = inputs(length=32, size=16, scale=0.5)
    exact = softmax_attention(query, key, value)
    errors = {}
    for orthogonal in (True, False):
        total = 0.0
        for seed in range(20):
            projection = projections(64, 16, seed, orthogonal)
            of_query, of_key = feature_map(query, "favor", projection), feature_map(key, "favor", projection)
            of_key = of_key._replace(offset=of_key.offset + log_importance(key, 2.0))
            total += float((linear_attention(of_query, of_key, value)[0] - exact).abs().mean())
        errors[orthogonal] = total / 20
    assert errors[True] < errors[False]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", POSITIVE)
def test_04_weights_are_positive_and_sum_to_one_so_outputs_lie_among_the_values(kind: str, causal: bool) -> None:
    query, key, value = inputs(scale=2.0)
    mask = padding()
    mask[1] = True
    pair = features(query, key, kind)
    weights = linear_attention_weights(*pair, mask, causal)
    assert (weights >= 0).all()
    assert (weights[0, :, :, -3:] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), rtol=1e-9, atol=1e-9)
    found = linear_attention(*pair, value, mask, causal, chunk_size=4)[0]
    real = value[:1, :, :-3]
    if not causal:
        assert (found[:1] <= real.amax(2, keepdim=True) + 1e-12).all()
        assert (found[:1] >= real.amin(2, keepdim=True) - 1e-12).all()
        return
    assert (found[:1, :, :-3] <= real.cummax(2).values + 1e-12).all()
    assert (found[:1, :, :-3] >= real.cummin(2).values - 1e-12).all()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", FEATURE_MAPS)
def test_05_constant_values_are_the_output(kind: str, causal: bool) -> None:
    query, key, value = inputs(scale=0.5, dtype=torch.float32)
    found = attended(query, key, torch.full_like(value, 1.7), kind, causal=causal)
    torch.testing.assert_close(found, torch.full_like(value, 1.7), rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", FEATURE_MAPS)
def test_06_a_permutation_of_the_keys_and_queries_permutes_the_outputs(kind: str) -> None:
    query, key, value = inputs()
    order = torch.randperm(LENGTH, generator=torch.Generator().manual_seed(3))
    expected = attended(query, key, value, kind)[:, :, order]
    found = attended(query[:, :, order], key[:, :, order], value[:, :, order], kind)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [1, 4, 64])
@pytest.mark.parametrize("kind", FEATURE_MAPS)
def test_06_a_changed_token_changes_no_output_before_it_by_a_single_bit(kind: str, size: int) -> None:
    query, key, value = inputs()
    before = attended(query, key, value, kind, causal=True, chunk_size=size)
    for place in (1, 5, LENGTH - 1):
        changed = [tensor.clone() for tensor in (query, key, value)]
        for tensor in changed:
            # So large a key is, with most maps, the new maximum of all log-features.
            tensor[:, :, place] = 40 * torch.randn(tensor[:, :, place].shape, dtype=torch.float64)
        after = attended(*changed, kind, causal=True, chunk_size=size)
        assert torch.equal(after[:, :, :place], before[:, :, :place])
        assert not torch.equal(after[:, :, place:], before[:, :, place:])


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("kind", FEATURE_MAPS)
def test_07_chunks_of_any_size_give_the_same(kind: str, padded: bool) -> None:
    query, key, value = inputs(length=70, dtype=torch.float32, scale=SMALL if kind == "trig" else 1.0)
    mask = padding(70) if padded else None
    found = [attended(query, key, value, kind, mask=mask, causal=True, chunk_size=size) for size in (1, 7, 64, 70)]
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", FEATURE_MAPS)
def test_07_a_stream_of_single_tokens_equals_the_whole(kind: str) -> None:
    query, key, value = inputs(length=20, dtype=torch.float32, scale=SMALL if kind == "trig" else 1.0)
    mask = padding(20)
    whole, last, _ = linear_attention(*features(query, key, kind), value, mask, True, chunk_size=6, with_state=True)
    state = None
    for place in range(20):
        one = slice(place, place + 1)
        pair = features(query[:, :, one], key[:, :, one], kind)
        found, state, _ = linear_attention(*pair, value[:, :, one], mask[:, one], True, state=state, with_state=True)
        torch.testing.assert_close(found, whole[:, :, one], rtol=1e-5, atol=1e-5)
    assert state is not None
    assert last is not None
    # The same sums, at levels of their own.
    scale = (state.level - last.level).exp()[..., None, None]
    torch.testing.assert_close(state.sums * scale, last.sums, rtol=1e-5, atol=1e-5 * float(last.sums.abs().max()))


def test_07_gradients_pass_through_a_stream_of_single_tokens() -> None:
    given = [tensor.requires_grad_() for tensor in inputs(length=5)]
    query, key, value = given
    wanted = torch.autograd.grad(attended(*given, causal=True).sin().sum(), given)
    state, outputs = None, []
    for place in range(5):
        one = slice(place, place + 1)
        pair = features(query[:, :, one], key[:, :, one], "favor")
        found, state, _ = linear_attention(*pair, value[:, :, one], causal=True, state=state, with_state=True)
        outputs.append(found)
    torch.testing.assert_close(torch.autograd.grad(torch.cat(outputs, dim=2).sin().sum(), given), wanted)


def test_07_a_prompt_and_then_the_rest_equals_the_whole() -> None:
    query, key, value = inputs(length=20)
    whole = attended(query, key, value, causal=True, chunk_size=6)
    pair = features(query[:, :, :9], key[:, :, :9], "favor")
    first, state, _ = linear_attention(*pair, value[:, :, :9], causal=True, chunk_size=4, with_state=True)
    pair = features(query[:, :, 9:], key[:, :, 9:], "favor")
    second, _, _ = linear_attention(*pair, value[:, :, 9:], causal=True, chunk_size=5, state=state)
    torch.testing.assert_close(torch.cat((first, second), dim=2), whole, rtol=1e-10, atol=1e-10)


def test_07_fewer_queries_than_keys_are_the_last_ones() -> None:
    query, key, value = inputs()
    whole = attended(query, key, value, causal=True)
    for kind in ("elu", "favor"):
        whole = attended(query, key, value, kind, causal=True)
        last = attended(query[:, :, -4:], key, value, kind, causal=True, chunk_size=3)
        torch.testing.assert_close(last, whole[:, :, -4:], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shift", [-300.0, 45.0, 800.0])
def test_08_a_shift_of_all_log_features_of_keys_changes_nothing(shift: float, causal: bool) -> None:
    query, key, value = inputs()
    of_query, of_key = features(query, key, "favor")
    expected = linear_attention(of_query, of_key, value, causal=causal)[0]
    shifted = of_key._replace(offset=of_key.offset + shift)
    # exp(800) has no float64: without the maximum taken away this is NaN.
    found = linear_attention(of_query, shifted, value, causal=causal)[0]
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("causal", [False, True])
def test_09_no_tensor_has_two_axes_of_the_length_and_the_state_none(causal: bool) -> None:
    sizes = []
    for length in (300, 600):
        query, key, value = (tensor.requires_grad_() for tensor in inputs(length=length, dtype=torch.float32))
        with ResultShapes() as shapes:
            found, state, _ = linear_attention(
                *features(query, key, "favor"), value, causal=causal, chunk_size=64, with_state=causal
            )
            found.sum().backward()
        assert all(sum(side >= 300 for side in shape) < 2 for shape in shapes.seen)
        sizes.append([tensor.shape for tensor in state or ()])
        assert shapes.largest() <= BATCH * HEADS * (length + 64) * 64
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("causal", [False, True])
def test_09_twice_the_length_takes_less_than_two_and_a_half_times_the_operations(causal: bool) -> None:
    """Of products, which are counted; seconds are those of the benchmark."""
    operations = {}
    for length in (512, 1024):
        query, key, value = inputs(length=length, size=32, dtype=torch.float32)
        pair = features(query, key, "favor", count=64)
        with FlopCounterMode(display=False) as counter:
            linear_attention(*pair, value, causal=causal)
        operations[length] = counter.get_total_flops()
    assert 1.5 * operations[512] < operations[1024] < 2.5 * operations[512]


def test_10_elu_of_queries_of_zero_is_a_mean_weighed_by_the_sums_of_features() -> None:
    query, key, value = inputs()
    weights = (torch.nn.functional.elu(key) + 1).sum(dim=-1, keepdim=True)
    expected = (weights * value).sum(2, keepdim=True) / weights.sum(2, keepdim=True)
    pair = features(torch.zeros_like(query), key, "elu", p=None)
    found = linear_attention(*pair, value)[0]
    torch.testing.assert_close(found, expected.expand_as(found), rtol=1e-12, atol=1e-12)


def test_11_the_l2_importance_halves_the_squared_length_of_keys() -> None:
    query, key, value = inputs()
    of_query, of_key = features(query, key, "favor", p=2.0)
    plain = features(query, key, "favor", p=None)[1]
    scaled = (key / SIZE**0.25).square().sum(dim=-1, keepdim=True)
    # -||k'||^2 + ||k'||^2 / 2 = -||k'||^2 / 2
    folded = plain._replace(offset=plain.offset + scaled / 2)
    torch.testing.assert_close(folded.offset, of_key.offset, rtol=1e-12, atol=1e-12)
    found = [linear_attention(of_query, each, value)[0] for each in (of_key, folded)]
    torch.testing.assert_close(found[0], found[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("p", [1.5, 3.0])
def test_11_the_importance_weighs_keys_of_one_length_by_their_profile(p: float) -> None:
    flat, peaked = torch.full((SIZE,), 0.5, dtype=torch.float64), torch.tensor([1.0, 0, 0, 0], dtype=torch.float64)
    key = torch.stack((flat, peaked)).expand(1, HEADS, 2, SIZE)
    query = torch.randn(1, HEADS, 1, SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weights, plain = (linear_attention_weights(*features(query, key, "favor", p=each), eps=0) for each in (p, None))
    ratio = (weights[..., 0] / weights[..., 1]) / (plain[..., 0] / plain[..., 1])
    norms = [float(k.pow(p).sum() ** (2 / p)) for k in (flat, peaked)]
    expected = math.exp((norms[0] - norms[1]) / (2 * math.sqrt(SIZE)))
    # |x| is taken to be at least 1e-6, of which the zeros of the peaked key are made.
    torch.testing.assert_close(ratio, torch.full_like(ratio, expected), rtol=1e-5, atol=0)
    # A large p takes weight from the dense key, a small one gives it weight.
    assert (expected < 1) == (p > 2)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", FEATURE_MAPS)
def test_12_gradients(kind: str, causal: bool) -> None:
    query, key, value = (x[:, :1, :5].clone().requires_grad_() for x in inputs(scale=0.5))
    projection = projections(8, SIZE, heads=1).requires_grad_(kind not in ("elu",))
    mask = padding()[:, :5]
    mask[0] = True

    def function(*tensors: torch.Tensor) -> torch.Tensor:
        q, k, v = tensors[:3]
        of_query, of_key = feature_map(q, kind, tensors[3]), feature_map(k, kind, tensors[3])
        of_key = of_key._replace(offset=of_key.offset + log_importance(k, 2.0))
        return linear_attention(of_query, of_key, v, mask, causal, chunk_size=2)[0]

    assert torch.autograd.gradcheck(function, (query, key, value, projection), fast_mode=True)


# --- Dangers and bad input ---


def test_exponents_that_overflow_are_reduced_first() -> None:
    query, key, value = inputs(size=64, scale=3.0, dtype=torch.float32)
    big = 60 * key
    for causal in (False, True):
        found = attended(query * 60, big, value, causal=causal)
        assert found.isfinite().all()


def test_a_huge_later_key_does_not_make_the_past_vanish() -> None:
    query, key, value = inputs(dtype=torch.float32)
    large = key.clone()
    large[:, :, -1] = 60  # with p = 1 of the largest log-feature: with p = 2 long keys have small ones
    for size in (3, 64):
        # With one maximum for all keys, those before would have underflowed to weights of 0.
        before, after = (attended(query, x, value, p=1.0, causal=True, chunk_size=size) for x in (key, large))
        assert torch.equal(after[:, :, :-1], before[:, :, :-1])


def test_the_fraction_of_clamped_denominators_tells_where_no_key_is_near() -> None:
    query, key, value = inputs(length=4)
    key = torch.full_like(key, 9.0)
    near = linear_attention(*features(key, key, "favor"), value, with_clamped=True)[2]
    assert near == 0
    query = torch.full_like(query, -9.0)
    for causal in (False, True):
        far = linear_attention(*features(query, key, "favor"), value, causal=causal, with_clamped=True)
        assert far[2] == 1
        assert far[0].isfinite().all()


@pytest.mark.parametrize("causal", [False, True])
def test_far_from_all_keys_the_output_is_a_mean_by_the_features_of_the_keys(causal: bool) -> None:
    query, key, value = inputs(length=4)
    of_query, of_key = features(torch.full_like(query, -9.0), 9 + 0.01 * key, "favor")
    found, _, clamped = linear_attention(of_query, of_key, value, causal=causal, with_clamped=True)
    assert clamped == 1
    exponents = of_key.exponent + of_key.offset
    shares = (exponents - exponents.amax(dim=(2, 3), keepdim=True)).exp().sum(dim=-1, keepdim=True)
    sums = [(x.cumsum(dim=2) if causal else x.sum(dim=2, keepdim=True)) for x in (shares * value, shares)]
    torch.testing.assert_close(found, (sums[0] / sums[1]).expand_as(found), rtol=1e-6, atol=1e-6)


def test_padding_does_not_count_among_clamped_denominators() -> None:
    query, key, value = inputs(length=4)
    mask = torch.tensor([[False, False, True, True], [False, False, False, False]])
    for causal in (False, True):
        clamped = linear_attention(*features(query, key, "elu"), value, mask, causal, with_clamped=True)[2]
        assert clamped == 0


@pytest.mark.parametrize("p", [0.5, 1.0, 3.0])
def test_an_importance_with_a_small_p_lets_one_key_take_all_without_overflow(p: float) -> None:
    query, key, value = inputs(size=64, scale=4.0, dtype=torch.float32)
    key[:, :, 3] *= 2
    of_query, of_key = features(query, key, "favor", p=p)
    found = linear_attention(of_query, of_key, value)[0]
    assert found.isfinite().all()
    if p == 0.5:
        # Exponents of 10^7 have no fraction in single precision.
        found = attended(query.double(), key.double(), value.double(), p=p)
        torch.testing.assert_close(found, value[:, :, 3:4].expand_as(found).double())


def test_sums_in_the_state_and_denominators_are_scaled_together() -> None:
    query, key, value = inputs(length=8)
    key[:, :, 5] *= 6
    levels = (features(query, key, "favor", p=1.0)[1].offset + features(query, key, "favor", p=1.0)[1].exponent).amax(
        -1
    )
    assert (levels[:, :, 5] > levels[:, :, :5].amax(dim=-1)).all()  # the maximum rises in the middle of the stream
    whole = attended(query, key, value, p=1.0, causal=True, chunk_size=64)
    state: LinearState | None = None
    for place in range(8):
        one = slice(place, place + 1)
        pair = features(query[:, :, one], key[:, :, one], "favor", p=1.0)
        found, state, _ = linear_attention(*pair, value[:, :, one], causal=True, state=state, with_state=True)
        torch.testing.assert_close(found, whole[:, :, one], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("causal", [False, True])
def test_no_keys_give_an_empty_output_one_key_its_value_and_only_padding_zero(causal: bool) -> None:
    query, key, value = inputs()
    none = (tensor[:, :, :0] for tensor in (query, key, value))
    assert attended(*none, causal=causal).shape == (BATCH, HEADS, 0, WIDTH)
    one = [tensor[:, :, :1] for tensor in (query, key, value)]
    torch.testing.assert_close(attended(*one, causal=causal), value[:, :, :1])
    for kind in FEATURE_MAPS:
        given = [x.clone().requires_grad_() for x in (query, key, value)]
        mask = padding()
        mask[0] = False
        found = attended(*given, kind, mask=mask, causal=causal)
        assert (found[0] == 0).all()
        found.square().sum().backward()
        assert all(x.grad.isfinite().all() for x in given)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", FEATURE_MAPS)
def test_what_stands_at_padding_counts_for_nothing(kind: str, causal: bool) -> None:
    query, key, value = inputs()
    mask = padding()
    before = attended(query, key, value, kind, mask=mask, causal=causal, chunk_size=4)
    for tensor in (key, value):
        tensor[0, :, -3:] = 1e4
        tensor[1, :, 1] = 1e4
    key.requires_grad_()
    after = attended(query, key, value, kind, mask=mask, causal=causal, chunk_size=4)
    assert torch.equal(after, before)
    after.square().sum().backward()
    assert key.grad is not None
    assert key.grad.isfinite().all()
    assert (key.grad[0, :, -3:] == 0).all()


def test_masks_of_pairs_are_refused() -> None:
    query, key, value = inputs()
    with pytest.raises(ValueError, match=r"mask of shape \(11, 11\).*takes masks \(batch, keys\)"):
        attended(query, key, value, mask=torch.ones(LENGTH, LENGTH, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"mask of shape \(2, 11, 11\)"):
        attended(query, key, value, mask=torch.ones(BATCH, LENGTH, LENGTH, dtype=torch.bool))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunk_size": 0}, "chunk_size is 0"),
        ({"with_state": True}, "causal=False"),
        ({"causal": True, "queries": 12}, "12 causal queries of 11 keys"),
        ({"causal": True, "queries": 5, "state": True}, "5 queries of 11 keys beside a state"),
    ],
)
def test_impossible_calls_are_refused(options: dict[str, Any], message: str) -> None:
    query, key, value = inputs(length=12)
    query, key, value = query[:, :, : options.pop("queries", LENGTH)], key[:, :, :LENGTH], value[:, :, :LENGTH]
    if options.pop("state", False):
        options["state"] = LinearState(torch.zeros(1), torch.zeros(1))
    with pytest.raises(ValueError, match=message):
        attended(query, key, value, **options)


def test_unknown_features_missing_projections_and_impossible_norms_are_refused() -> None:
    x = inputs()[0]
    with pytest.raises(ValueError, match="feature_map 'fourier' is none of favor, hyperbolic"):
        feature_map(x, "fourier", None)
    with pytest.raises(ValueError, match="feature_map 'relu' needs a projection"):
        feature_map(x, "relu", None)
    with pytest.raises(ValueError, match="got -1"):
        log_importance(x, -1)


def test_orthogonal_projections_have_orthogonal_blocks_and_normal_lengths() -> None:
    drawn = draw_projection(2000 * 8 - 3, 8, torch.Generator().manual_seed(0))
    assert drawn.shape == (15_997, 8)
    products = drawn[:8] @ drawn[:8].T
    torch.testing.assert_close(products, products.diagonal().diag(), rtol=0, atol=1e-5)
    squares = drawn.square().sum(dim=1)
    assert abs(float(squares.mean()) - 8) < 0.15
    assert abs(float(squares.var()) - 16) < 1.5
    torch.testing.assert_close(drawn.T @ drawn / len(drawn), torch.eye(8), rtol=0, atol=0.06)


@pytest.mark.parametrize(("size", "count"), [(1, 32), (8, 32), (16, 48), (32, 112), (64, 272)])
def test_the_default_number_of_features(size: int, count: int) -> None:
    assert default_num_features(size) == count
