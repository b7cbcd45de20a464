"""The layer of attention in linear time: its features, its state, its precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from ctxzoo.models import ARCHITECTURES, layers_linear_encoder
from ctxzoo.models.configuration_linear_encoder import LinearEncoderConfig
from ctxzoo.models.layers_linear_encoder import EfficientAttention
from ctxzoo.models.modeling_linear_encoder import LinearEncoderModel
from ctxzoo.models.ops_linear_encoder import FEATURE_MAPS, feature_values
from tests.support.pages import run_examples
from tests.support.subprocesses import REPOSITORY_ROOT

SIZES: dict[str, Any] = {"vocab_size": 20, "word_dim": 8, "hidden_size": 8, "num_heads": 2, "num_layers": 2}


def language_model(options: dict[str, Any]) -> Any:
    """Of the linear encoder, or of the higher-order encoder, whose factorised attention is linear in the length too."""
    architecture = ARCHITECTURES["higher_order_encoder" if "order_type" in options else "linear_encoder"]
    config = architecture.config_class(**SIZES, **options, causal=True)
    return architecture.model_classes["AutoModelForCausalLM"](config)


def tensors(length: int = 9, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [(scale * torch.randn(2, 2, length, 4, generator=generator)).to(dtype) for _ in range(3)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", FEATURE_MAPS)
def test_requested_weights_are_those_of_the_output(kind: str, causal: bool) -> None:
    inputs = tensors(dtype=torch.float64)
    mask = torch.arange(9) < torch.tensor([[9], [6]])
    layer = EfficientAttention(2, 4, feature_map=kind).double()
    out, aux = layer(*inputs, mask, causal, output_attentions=True)
    torch.testing.assert_close(aux.weights @ inputs[2], out, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("first", [0, 11])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", FEATURE_MAPS)
def test_evaluation_in_blocks_gives_what_reading_all_at_once_does(
    kind: str, causal: bool, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = tensors(37, torch.float64)
    inputs[1][..., 30, :] *= 4  # a later block has the largest feature of all
    mask = (torch.arange(37) >= torch.tensor([[0], [first]])) & (torch.arange(37) < torch.tensor([[37], [33]]))
    layer = EfficientAttention(2, 4, feature_map=kind, qk_norm=False).double().eval()
    expected, aux = layer(*inputs, mask, causal, use_cache=causal)
    monkeypatch.setattr(layers_linear_encoder, "BLOCK", 5)
    with torch.no_grad():
        found, parts = layer(*inputs, mask, causal, use_cache=causal)
        unmasked, _ = layer(*inputs, None, causal)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(unmasked[0, :, :33], layer(*inputs, None, causal)[0][0, :, :33], rtol=1e-9, atol=1e-12)
    assert (parts.state is None) is not causal
    if causal:
        torch.testing.assert_close(tuple(parts.state), tuple(aux.state), rtol=1e-9, atol=1e-12)


def test_blocks_that_follow_leave_the_causal_outputs_before_them_as_they_are_bit_for_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layers_linear_encoder, "BLOCK", 5)
    layer, inputs = EfficientAttention(2, 4).eval(), tensors(37)
    changed = [x.clone() for x in inputs]
    for x in changed:
        x[..., 22:, :] += 3
    with torch.no_grad():
        before, after = (layer(*x, causal=True)[0] for x in (inputs, changed))
    assert torch.equal(before[..., :22, :], after[..., :22, :])
    assert not torch.equal(before[..., 22, :], after[..., 22, :])


def test_weights_are_a_softmax_of_log_similarity_plus_importance() -> None:
    inputs = tensors(dtype=torch.float64)
    layer = EfficientAttention(2, 4, qk_norm=False, p_norm=3.0).double()
    aux = layer(*inputs, output_attentions=True)[1]
    expected = (aux.similarity.log() + aux.importance.unsqueeze(2)).softmax(dim=-1)
    torch.testing.assert_close(aux.weights, expected, rtol=1e-3, atol=1e-5)  # 1e-6 in the features of queries


def test_normalised_queries_and_keys_have_norms_that_random_features_can_follow() -> None:
    layer = EfficientAttention(2, 4)
    inputs = tensors(scale=50.0)
    norms = layer.key_norm(inputs[1]).norm(dim=-1)
    assert (norms < 2.01).all()
    assert layer.train()(*inputs)[1].clamped < 0.05
    assert EfficientAttention(2, 4, qk_norm=False).train()(*inputs)[1].clamped > 0.2


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", FEATURE_MAPS)
def test_half_precision_inputs_are_read_in_single(kind: str, causal: bool, dtype: torch.dtype) -> None:
    half = [x.to(dtype) for x in tensors(600)]
    layer = EfficientAttention(2, 4, feature_map=kind, qk_norm=False)
    found, _ = layer(*half, causal=causal)
    expected, _ = layer(*(x.float() for x in half), causal=causal)
    assert torch.equal(found, expected.to(dtype))
    layer.eval()  # in blocks of queries and keys
    with torch.no_grad():
        found, _ = layer(*half, causal=causal)
        expected, _ = layer(*(x.float() for x in half), causal=causal)
    assert torch.equal(found, expected.to(dtype))


@torch.no_grad()
def test_sums_of_a_stream_of_bfloat16_do_not_stop_growing() -> None:
    layer = EfficientAttention(1, 4, feature_map="elu", qk_norm=False).bfloat16().eval()
    zero = torch.zeros(1, 1, 1, 4, dtype=torch.bfloat16)
    state = None
    for place in range(1000):
        output, aux = layer(zero, zero, zero + float(place >= 500), causal=True, state=state, use_cache=True)
        state = aux.state
    assert state[0].dtype == torch.float32
    torch.testing.assert_close(output.float(), torch.full((1, 1, 1, 4), 0.5))


def test_norms_below_one_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"p_norm=0\.5: below 1 the importance of a key grows"):
        EfficientAttention(2, 4, p_norm=0.5)


@torch.no_grad()
@pytest.mark.parametrize(("size", "error", "from_a_mean"), [(4, 0.05, 0.06), (8, 0.08, 0.06), (64, 0.22, 0.07)])
def test_how_far_random_features_are_from_softmax_attention(size: int, error: float, from_a_mean: float) -> None:
    """The numbers of docs/models/linear_encoder.md."""
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(4, 2, 200, size, generator=generator) for _ in range(3))
    layer = EfficientAttention(2, size).eval()
    softmax = F.scaled_dot_product_attention(layer.query_norm(query), layer.key_norm(key), value)
    found, _ = layer(query, key, value)
    assert float((found - softmax).abs().mean()) == pytest.approx(error, rel=0.2)
    assert float((softmax - value.mean(dim=2, keepdim=True)).abs().mean()) == pytest.approx(from_a_mean, rel=0.2)


def test_autocast_leaves_attention_in_single() -> None:
    query, key, value = tensors(600)
    layer = EfficientAttention(2, 4)
    for trained in (True, False):  # in evaluation in blocks
        layer.train(trained)
        for causal in (False, True):
            with torch.set_grad_enabled(trained):
                exact, _ = layer(query, key, value, causal=causal)
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    mixed, _ = layer(query, key, value, causal=causal)
            torch.testing.assert_close(mixed, exact, rtol=1e-6, atol=1e-6)


def test_the_encoder_gives_the_mean_fraction_of_clamped_denominators() -> None:
    torch.manual_seed(0)
    model = LinearEncoderModel(LinearEncoderConfig(**SIZES, qk_norm=False)).train()
    with torch.no_grad():
        for block in model.blocks[:1]:
            block.attention.query.weight.mul_(3000)
            block.attention.key.weight.mul_(3000)
    ids = torch.arange(2, 18).view(2, 8)
    clamped = float(model(ids).clamped)
    parts = []
    for block in model.blocks:
        block.attention.attention.register_forward_hook(
            lambda _module, _inputs, output: parts.append(output[1].clamped)
        )
    model(ids)
    assert clamped == pytest.approx(sum(map(float, parts)) / 2)
    assert 0.1 < clamped < 1
    assert model.eval()(ids).clamped is None


def test_the_projection_comes_from_the_seed_and_is_saved_with_the_model(tmp_path: Any) -> None:
    config = LinearEncoderConfig(**SIZES, feature_map="favor")
    first, second = LinearEncoderModel(config), LinearEncoderModel(config)
    projections = [block.attention.attention.projection for block in first.blocks]
    assert torch.equal(projections[0], second.blocks[0].attention.attention.projection)
    assert not torch.equal(projections[0], projections[1])
    assert not torch.equal(projections[0][0], projections[0][1])
    # The file holds numbers that no seed gives back.
    first.blocks[0].attention.attention.projection.mul_(1.01)
    first.save_pretrained(tmp_path)
    loaded = LinearEncoderModel.from_pretrained(tmp_path)
    ids = torch.arange(2, 12).view(2, 5)
    assert torch.equal(loaded(ids).last_hidden_state, first.eval()(ids).last_hidden_state)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"feature_map": "elu", "position": "rotary"},
        {"order_type": "factorised"},
        {"order_type": "factorised", "distinct": True, "order": 4},
    ],
)
def test_generate_streams_with_a_state_of_fixed_size(options: dict[str, Any]) -> None:
    model = language_model(options).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4 if parameter.dim() == 2 else 1)
    prompt = torch.tensor([[3, 5, 7], [2, 9, 4]])
    found = model.generate(prompt, max_new_tokens=8, do_sample=False, use_cache=True)
    assert torch.equal(found, model.generate(prompt, max_new_tokens=8, do_sample=False, use_cache=False))
    whole = model(found).logits
    sizes, state = set(), None
    for place in range(found.size(1)):
        step = model(found[:, place : place + 1], state=state, use_cache=True)
        state = step.state
        sizes.add(tuple(tensor.shape for layer in state for tensor in layer))
        torch.testing.assert_close(step.logits[:, 0], whole[:, place], rtol=1e-4, atol=1e-4)
    assert len(sizes) == 1


@pytest.mark.parametrize("options", [{}, {"order_type": "factorised"}])
def test_a_changed_word_changes_no_score_before_it_by_a_single_bit(options: dict[str, Any]) -> None:
    model = language_model(options).double().eval()
    ids = torch.arange(2, 18).view(2, 8)
    before = model(ids).logits
    for place in (1, 4, 7):
        other = ids.clone()
        other[:, place] = 19
        after = model(other).logits
        assert torch.equal(after[:, :place], before[:, :place])
        assert not torch.equal(after[:, place], before[:, place])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_map": "fourier"}, "feature_map 'fourier' is none of"),
        ({"num_features": 0}, "num_features is 0, expected at least 1"),
        ({"head_size": 0}, "head_size is 0"),
        ({"feature_map": "elu", "num_features": 8}, "elu has as many features as a head has numbers"),
    ],
)
def test_impossible_layers_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EfficientAttention(**{"num_heads": 2, "head_size": 4, **options})


def test_impossible_calls_are_refused() -> None:
    inputs = tensors()
    with pytest.raises(ValueError, match="has no scores that a score_bias could be added to"):
        EfficientAttention(2, 4)(*inputs, score_bias=torch.zeros(2, 2, 9, 9))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p_norm": 0}, "p_norm must be above 0, got 0"),
        ({"num_features": -1}, "num_features must be 0 or above, got -1"),
        ({"feature_map": "elu", "num_features": 8}, "num_features is 8: feature_map='elu'"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        LinearEncoderConfig(**SIZES, **options)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["linear_encoder", "higher_order_encoder"])
def test_the_examples_of_the_pages_run(page: str, tmp_path: Path) -> None:
    run_examples(REPOSITORY_ROOT / "docs" / "models" / f"{page}.md", tmp_path)


@pytest.mark.parametrize("kind", ["favor", "elu"])
def test_a_decay_multiplies_the_sums_at_each_step(kind: str) -> None:
    """S_t = gamma S_(t-1) + m phi(k_t) [v_t, 1]^T, in the parallel form and in a stream."""
    generator = torch.Generator().manual_seed(2)
    query, key, value = (torch.randn(2, 2, 300, 4, generator=generator, dtype=torch.float64) for _ in range(3))
    factors = (0.4, 0.97)
    layer = EfficientAttention(2, 4, feature_map=kind, qk_norm=False, state_decay=factors).double()
    phi_query = feature_values(layer._map_features(query))
    plain = EfficientAttention(2, 4, feature_map=kind, qk_norm=False).double()
    phi_key = feature_values(plain._map_keys(key))  # with their importance
    gamma = torch.tensor(factors, dtype=torch.float64)[:, None, None]
    sums, expected = torch.zeros(2, 2, phi_key.size(-1), 5, dtype=torch.float64), []
    for step in range(300):
        weighed = torch.cat((value[:, :, step], torch.ones(2, 2, 1, dtype=torch.float64)), dim=-1)
        sums = gamma * sums + phi_key[:, :, step, :, None] * weighed[:, :, None]
        row = (phi_query[:, :, step, None] @ sums)[:, :, 0]
        expected.append(row[..., :-1] / row[..., -1:])
    whole = torch.stack(expected, dim=2)
    tolerance = {"rtol": 1e-3, "atol": 1e-4}  # eps, which is added to the queries' features
    torch.testing.assert_close(layer(query, key, value, causal=True)[0], whole, **tolerance)
    layer.eval()
    with torch.no_grad():
        in_blocks, _ = layer(query, key, value, causal=True)
        first, rest = layer(query[:, :, :270], key[:, :, :270], value[:, :, :270], causal=True, use_cache=True)
        second, rest = layer(
            query[:, :, 270:299],
            key[:, :, 270:299],
            value[:, :, 270:299],
            causal=True,
            state=rest.state,
            use_cache=True,
        )
        last, _ = layer(query[:, :, 299:], key[:, :, 299:], value[:, :, 299:], causal=True, state=rest.state)
    trained = layer.train()(query, key, value, causal=True)[0]
    torch.testing.assert_close(in_blocks, trained, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(torch.cat((first, second, last), dim=2), trained, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("decay", [0.0, 1.1, (0.5,), (0.5, 0.5, 0.5)])
def test_a_decay_that_is_none_is_refused(decay: Any) -> None:
    with pytest.raises(
        ValueError, match=r"state_decay is .*; expected a number in \(0, 1\], or 2 of them, one for each head"
    ):
        EfficientAttention(2, 4, state_decay=decay)


def test_a_decay_needs_causal_attention() -> None:
    x = torch.randn(1, 2, 5, 4)
    with pytest.raises(ValueError, match=r"state_decay=0\.5 of attention that is not causal; expected 1"):
        EfficientAttention(2, 4, state_decay=0.5)(x, x, x)
    with pytest.raises(
        Exception, match=r"state_decay=0\.5 of attention that is not causal; expected 1, or causal=True"
    ):
        LinearEncoderConfig(state_decay=0.5)
    with pytest.raises(Exception, match=r"state_decay is \[0\.5\]; expected a number in .*, or 4, one for"):
        LinearEncoderConfig(state_decay=[0.5], causal=True)
