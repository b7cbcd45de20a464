"""The layer of attention of higher order: heads of two kinds, their start, their states, a task that needs pairs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from ctxzoo.models.configuration_higher_order_encoder import HigherOrderEncoderConfig
from ctxzoo.models.layers_encoder import DotAttention, MultiHeadAttention
from ctxzoo.models.layers_higher_order_encoder import (
    ORDER_TYPES,
    HigherOrderAttention,
    build_higher_order_attention,
)
from ctxzoo.models.modeling_higher_order_encoder import HigherOrderEncoderForCausalLM, HigherOrderEncoderModel
from recipes.long_context_esa import PAIRS, OneLayer, draw_marked_products
from tests.support.result_shapes import ResultShapes

SIZES: dict[str, Any] = {"vocab_size": 20, "word_dim": 8, "hidden_size": 8, "num_heads": 2, "num_layers": 2}
KINDS: list[dict[str, Any]] = [
    *({"order_type": kind} for kind in ORDER_TYPES),
    {"order_type": "trilinear", "pair_window": 3},
    {"order_type": "factorised", "distinct": True},
    {"order_type": "anova", "order": 3},
]


def tensors(length: int = 7, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    """q, k, v of two heads, and what they are made of."""
    generator = torch.Generator().manual_seed(0)
    heads = [torch.randn(2, 2, length, 4, generator=generator).to(dtype) for _ in range(3)]
    return (*heads, torch.randn(2, length, 8, generator=generator).to(dtype))


def layer_of(options: dict[str, Any], **more: Any) -> HigherOrderAttention:
    """A layer that has left its start."""
    config = HigherOrderEncoderConfig(**SIZES, **options, **more)
    layer = build_higher_order_attention(config, 0)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return layer.eval()


@pytest.mark.parametrize("options", KINDS)
def test_with_causal_attention_no_output_depends_on_a_later_token(options: dict[str, Any]) -> None:
    model = HigherOrderEncoderForCausalLM(HigherOrderEncoderConfig(**SIZES, **options, causal=True))
    model = model.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    ids = torch.arange(2, 18).view(2, 8)
    before = model(ids).logits
    other = ids.clone()
    other[:, 5] = 19
    after = model(other).logits
    assert torch.equal(after[:, :5], before[:, :5])
    assert not torch.equal(after[:, 5], before[:, 5])


@pytest.mark.parametrize("higher", [1, 2])
@pytest.mark.parametrize("options", KINDS)
def test_reading_in_steps_equals_reading_at_once(options: dict[str, Any], higher: int) -> None:
    *heads, hidden = tensors(dtype=torch.float64)
    mask = torch.ones(2, 7, dtype=torch.bool)
    mask[1, 0] = False
    layer = layer_of(options, num_higher_heads=higher, causal=True).double()
    whole, _ = layer(*heads, mask, True, hidden_states=hidden)
    state, parts, sizes = None, [], set()
    for begin, end in ((0, 3), (3, 4), (4, 5), (5, 7)):
        here = [x[:, :, begin:end] for x in heads]
        part, aux = layer(
            *here, mask[:, begin:end], True, hidden_states=hidden[:, begin:end], state=state, use_cache=True
        )
        state = aux.state
        parts.append(part)
        sizes.add(tuple(x.shape for x in state))
    torch.testing.assert_close(torch.cat(parts, dim=2), whole, rtol=1e-8, atol=1e-8)
    assert (len(sizes) == 1) == (options["order_type"] == "factorised" and higher == 2)


@pytest.mark.parametrize("options", KINDS)
def test_what_stands_at_padding_counts_for_nothing(options: dict[str, Any]) -> None:
    *heads, hidden = tensors()
    mask = torch.arange(7) < torch.tensor([[7], [4]])
    layer = layer_of(options)
    before, _ = layer(*heads, mask, hidden_states=hidden)
    for x in (*heads, hidden.unsqueeze(1)):
        x[1, :, 4:] = 77.0
    after, _ = layer(*heads, mask, hidden_states=hidden)
    torch.testing.assert_close(after[1, :, :4], before[1, :, :4])
    nothing, _ = layer(*heads, torch.zeros_like(mask), hidden_states=hidden)
    assert (nothing == 0).all()


@pytest.mark.parametrize("options", [options for options in KINDS if "pair_window" not in options])
def test_weights_are_those_of_the_values(options: dict[str, Any]) -> None:
    *heads, hidden = tensors(dtype=torch.float64)
    layer = layer_of(options, num_higher_heads=1).double()
    for second in layer.second_values:
        nn.init.zeros_(second.weight)
        nn.init.ones_(second.bias)
    for causal in (False, True):
        out, aux = layer(*heads, None, causal, hidden_states=hidden, output_attentions=True)
        torch.testing.assert_close(aux.weights @ heads[2], out, rtol=1e-9, atol=1e-9)
        assert (aux.weights >= 0).all()
        assert (aux.weights <= 1 + 1e-12).all()


@pytest.mark.parametrize("kind", ["trilinear", "contextual", "anova"])
def test_a_layer_starts_as_pairwise_attention(kind: str) -> None:
    *heads, hidden = tensors()
    layer = HigherOrderAttention(2, 4, 8, order_type=kind, qk_norm=False)
    for second in (*layer.second_keys, *layer.second_values):
        nn.init.zeros_(second.weight)
        assert (second.bias == 1).all()
    expected, _ = DotAttention()(*heads)
    torch.testing.assert_close(layer(*heads, hidden_states=hidden)[0], expected, rtol=1e-5, atol=1e-6)


AT_START: list[dict[str, Any]] = [
    *({"order_type": kind} for kind in ("trilinear", "volume", "contextual", "factorised", "anova")),
    {"order_type": "factorised", "order": 4},
    {"order_type": "factorised", "distinct": True},
    {"order_type": "trilinear", "distinct": True},
    {"order_type": "contextual", "num_higher_heads": 2},
]


@pytest.mark.parametrize("options", AT_START)
def test_the_scale_of_the_output_at_the_start_is_that_of_pairwise_attention(options: dict[str, Any]) -> None:
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    x = torch.randn(4, 24, 64, generator=generator)
    mask = torch.ones(4, 24, dtype=torch.bool)
    deviations = []
    for attention in (DotAttention(), HigherOrderAttention(4, 16, 64, **options)):
        torch.manual_seed(1)
        found, _ = MultiHeadAttention(64, 4, attention)(x, mask, False)
        deviations.append(float(found.detach().std()))
    assert 0.5 < deviations[1] / deviations[0] < 2


def test_heads_of_both_kinds_stand_side_by_side() -> None:
    *heads, hidden = tensors()
    layer = layer_of({"order_type": "trilinear"}, num_higher_heads=1)
    found, aux = layer(*heads, hidden_states=hidden, output_attentions=True)
    pairwise, dot = DotAttention()(*(x[:, :1] for x in heads), output_attentions=True)
    torch.testing.assert_close(found[:, :1], pairwise)
    torch.testing.assert_close(aux.weights[:, :1], dot.weights)
    assert aux.pair_weights.shape == (2, 1, 7, 7, 7)


@pytest.mark.parametrize("order_type", ["trilinear", "volume"])
def test_pairs_of_a_long_text_are_refused_without_a_window(order_type: str) -> None:
    *heads, hidden = tensors()
    layer = HigherOrderAttention(2, 4, 8, order_type=order_type, max_exact_length=6)
    message = r"7 tokens, more than max_exact_length = 6: set a `window`, .*'contextual'.*'factorised'"
    with ResultShapes() as shapes, pytest.raises(ValueError, match=message):
        layer(*heads, hidden_states=hidden)
    assert shapes.total() < 7**3  # no pair was formed
    HigherOrderAttention(2, 4, 8, order_type=order_type, max_exact_length=6, window=2)(*heads, hidden_states=hidden)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order_type": "cubic"}, "order_type 'cubic' is none of trilinear, volume"),
        ({"num_higher_heads": 3}, "num_higher_heads is 3, expected 1 to 2"),
        ({"order_type": "factorised", "order": 5}, "order is 5, expected 2 to 4"),
        ({"window": 0}, "window is 0, expected at least 1"),
    ],
)
def test_impossible_layers_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HigherOrderAttention(2, 4, 8, **options)


def test_impossible_calls_are_refused() -> None:
    *heads, hidden = tensors()
    layer = HigherOrderAttention(2, 4, 8)
    with pytest.raises(ValueError, match="cannot add a score_bias"):
        layer(*heads, hidden_states=hidden, score_bias=torch.zeros(2, 2, 7, 7))
    with pytest.raises(ValueError, match="second keys of hidden_states; got None"):
        layer(*heads)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_higher_heads": 3}, "num_higher_heads must be 1 to 2, got 3"),
        ({"order_type": "factorised", "order": 5}, "order must be 2 to 4, got 5"),
        ({"order_type": "anova", "order": 0}, "order must be 1 or above, got 0"),
        ({"max_exact_length": 0}, "max_exact_length must be at least 1, got 0"),
        ({"pair_window": 0}, "pair_window must be 1 or above, got 0"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        HigherOrderEncoderConfig(**SIZES, **options)


LARGE_IN_HALF = [
    {"order_type": "trilinear"},
    {"order_type": "volume"},
    {"order_type": "trilinear", "pair_window": 3},
    {"order_type": "factorised"},
    {"order_type": "anova"},
    {"order_type": "anova", "order": 3},
    {"order_type": "contextual"},
]


@pytest.mark.parametrize("options", LARGE_IN_HALF)
def test_scores_beyond_the_range_of_half_precision(options: dict[str, Any]) -> None:
    *heads, hidden = (x.half() for x in tensors())
    heads = [300 * heads[0], 300 * heads[1], heads[2]]
    half = layer_of(options, qk_norm=False).half()
    single = layer_of(options, qk_norm=False)
    single.load_state_dict(half.state_dict())
    with torch.no_grad():
        found, _ = half(*heads, hidden_states=hidden)
        asked, aux = half(*heads, hidden_states=hidden, output_attentions=True)
        expected, exact = single(*(x.float() for x in heads), hidden_states=hidden.float(), output_attentions=True)
    for output in (found, asked):
        assert output.dtype == torch.float16
        assert output.isfinite().all()
        assert float((output.float() - expected).abs().max()) < 5e-3
    for name in ("weights", "pair_weights", "context_weights"):
        weights = getattr(aux, name)
        assert (weights is None) == (getattr(exact, name) is None)
        assert weights is None or float((weights.float() - getattr(exact, name)).abs().max()) < 5e-3


@pytest.mark.parametrize("options", LARGE_IN_HALF)
@torch.no_grad()
def test_autocast_leaves_scores_in_single(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    *heads, hidden = tensors()
    heads = [3 * heads[0], 3 * heads[1], heads[2]]
    layer = layer_of(options, qk_norm=False)
    with torch.autocast("cpu", dtype=torch.bfloat16):  # of it are the linear maps of second keys and values alone
        seconds = layer._project_further_keys(hidden)
        mixed = [layer(*heads, hidden_states=hidden, output_attentions=asked)[0] for asked in (False, True)]
    monkeypatch.setattr(layer, "_project_further_keys", lambda _: seconds)
    for asked, found in zip((False, True), mixed, strict=True):
        exact, _ = layer(*heads, hidden_states=hidden, output_attentions=asked)
        torch.testing.assert_close(found, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("distinct", [False, True])
def test_sums_of_a_thousand_numbers_of_bfloat16_are_single(distinct: bool, causal: bool) -> None:
    *heads, hidden = (x.bfloat16() for x in tensors(1000))
    config = HigherOrderEncoderConfig(**SIZES, order_type="factorised", distinct=distinct)
    half = build_higher_order_attention(config, 0).bfloat16()
    single = build_higher_order_attention(config, 0)
    single.load_state_dict(half.state_dict())
    with torch.no_grad():
        found, _ = half(heads[0], heads[1], heads[2].abs(), None, causal, hidden_states=hidden)
        given = heads[0].float(), heads[1].float(), heads[2].abs().float()
        expected, _ = single(*given, None, causal, hidden_states=hidden.float())
    assert found.dtype == torch.bfloat16
    assert float((found.float() - expected).abs().max()) < 0.016  # half a step of bfloat16 beyond 2 is 0.008


@pytest.mark.parametrize("size", [16, 64])
def test_normalised_queries_and_keys_keep_the_softmax_of_pairs_from_one_pair(size: int) -> None:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, 2, 24, size, generator=generator) for _ in range(3))
    hidden = torch.randn(2, 24, 2 * size, generator=generator)
    largest = {}
    for qk_norm in (True, False):
        layer = HigherOrderAttention(2, size, 2 * size, order_type="trilinear", qk_norm=qk_norm)
        _, aux = layer(30 * query, 30 * key, value, hidden_states=hidden, output_attentions=True)
        largest[qk_norm] = float(aux.pair_weights.detach().flatten(-2).amax(dim=-1).mean())
    assert largest[True] < 0.05
    assert largest[False] > 0.5


def test_second_keys_are_normalised_too() -> None:
    *heads, hidden = tensors()
    layer = layer_of({"order_type": "trilinear"})
    expected, _ = layer(*heads, hidden_states=hidden)
    with torch.no_grad():
        for parameter in layer.second_keys.parameters():
            parameter *= 100
    found, _ = layer(*heads, hidden_states=hidden)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("options", KINDS)
def test_gradients_of_inputs_and_of_every_parameter(options: dict[str, Any], causal: bool) -> None:
    layer = layer_of(options).double()
    mask = torch.tensor([[True, True, True], [True, True, False]])
    inputs = [x.requires_grad_() for x in tensors(3, torch.float64)]
    names = [name for name, _ in layer.named_parameters()]
    parameters = [parameter.detach().clone().requires_grad_() for parameter in layer.parameters()]

    def output(*given: torch.Tensor) -> torch.Tensor:
        *heads, hidden = given[:4]
        weights = dict(zip(names, given[4:], strict=True))
        found: torch.Tensor = functional_call(layer, weights, (*heads, mask, causal), {"hidden_states": hidden})[0]
        return found

    assert torch.autograd.gradcheck(output, (*inputs, *parameters), fast_mode=True)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_contextual_attention_starts_as_dot_products_bit_for_bit(padded: bool, causal: bool) -> None:
    *heads, hidden = tensors()
    mask = torch.arange(7) < torch.tensor([[7], [4]]) if padded else None
    layer = HigherOrderAttention(2, 4, 8, order_type="contextual", qk_norm=False)
    expected, _ = DotAttention()(*heads, mask, causal)
    assert torch.equal(layer(*heads, mask, causal, hidden_states=hidden)[0], expected)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("options", KINDS)
def test_no_tokens_give_an_empty_output(options: dict[str, Any], causal: bool) -> None:
    *heads, hidden = tensors(0)
    assert layer_of(options)(*heads, None, causal, hidden_states=hidden)[0].shape == (2, 2, 0, 4)
    model = HigherOrderEncoderModel(HigherOrderEncoderConfig(**SIZES, **options, causal=causal)).eval()
    assert model(torch.zeros(2, 0, dtype=torch.int64)).last_hidden_state.shape == (2, 0, 8)


@pytest.mark.parametrize("options", [options for options in KINDS if "pair_window" not in options])
def test_outputs_follow_a_permutation_of_the_tokens(options: dict[str, Any]) -> None:
    *heads, hidden = tensors(dtype=torch.float64)
    mask = torch.arange(7) < torch.tensor([[7], [4]])
    layer = layer_of(options).double()
    order = torch.randperm(7, generator=torch.Generator().manual_seed(0))
    expected, _ = layer(*heads, mask, hidden_states=hidden)
    found, _ = layer(*(x[:, :, order] for x in heads), mask[:, order], hidden_states=hidden[:, order])
    torch.testing.assert_close(found, expected[:, :, order], rtol=1e-10, atol=1e-12)


def accuracy_on_marked_products(kind: str, steps: int = 2000) -> float:
    """The accuracy of one layer of one head and a linear readout where the sequence asks, trained until it is right."""
    torch.manual_seed(0)
    model = OneLayer(*PAIRS[kind], 16)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(0)
    right = 0
    for _ in range(steps):
        tokens, labels = draw_marked_products(64, generator)
        found = model(tokens)
        optimizer.zero_grad()
        F.cross_entropy(found, labels).backward()
        optimizer.step()
        right = right + 1 if bool((found.argmax(dim=1) == labels).all()) else 0
        if right == 20:
            break
    tokens, labels = draw_marked_products(2000, generator)
    with torch.no_grad():
        return float((model(tokens).argmax(dim=1) == labels).float().mean())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["trilinear", "volume", "factorised"])
def test_heads_that_see_pairs_learn_the_product_of_two_marked_tokens(kind: str) -> None:
    assert accuracy_on_marked_products(kind) > 0.99


@pytest.mark.slow
def test_one_pairwise_head_cannot_learn_the_product_of_two_marked_tokens() -> None:
    assert accuracy_on_marked_products("dot") <= 0.8
