"""The kernel encoder: its blocks against their equations, and reading in steps against reading at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from ctxzoo.models.configuration_kernel_encoder import KernelEncoderConfig
from ctxzoo.models.modeling_kernel_encoder import (
    KernelEncoderForCausalLM,
    KernelEncoderForRegression,
    KernelEncoderForSequenceClassification,
    KernelEncoderModel,
)
from ctxzoo.models.ops_encoder import apply_rotary_factors, rotary_factors
from tests.references.encoder import reference_rotate

SIZES: dict[str, Any] = {"vocab_size": 30, "word_dim": 8, "hidden_size": 8, "num_heads": 2, "num_layers": 2}


def started(model: torch.nn.Module) -> Any:
    """The model in float64 with weights so large that attention is not uniform."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model.double().eval()


def test_a_block_is_attention_and_network_each_added_to_what_it_reads() -> None:
    model = started(KernelEncoderModel(KernelEncoderConfig(**{**SIZES, "num_layers": 1}, position="none")))
    ids = torch.tensor([[3, 4, 5, 6]])
    block = model.blocks[0]
    x = model.embeddings.words(ids)
    normed = torch.nn.functional.layer_norm(x, (8,), block.attention_norm.weight, block.attention_norm.bias)
    heads = []
    for head in range(2):
        rows = slice(4 * head, 4 * head + 4)
        query, key, value = (
            normed @ layer.weight[rows].T + layer.bias[rows]
            for layer in (block.attention.query, block.attention.key, block.attention.value)
        )
        weights = (query @ key.transpose(1, 2) / 2).exp()
        heads.append(weights @ value / weights.sum(-1, keepdim=True))
    x = x + torch.cat(heads, dim=-1) @ block.attention.output.weight.T + block.attention.output.bias
    normed = torch.nn.functional.layer_norm(x, (8,), block.inner_norm.weight, block.inner_norm.bias)
    inner = normed @ block.inner.weight.T + block.inner.bias
    gelu = inner * 0.5 * (1 + torch.erf(inner / 2**0.5))
    x = x + gelu @ block.outer.weight.T + block.outer.bias
    expected = torch.nn.functional.layer_norm(x, (8,), model.norm.weight, model.norm.bias)
    torch.testing.assert_close(model(ids).last_hidden_state, expected, rtol=1e-10, atol=1e-12)


def test_rotary_positions_turn_pairs_and_leave_distances_alone() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 5, 6, generator=generator, dtype=torch.float64)
    places = torch.tensor([[0, 1, 2, 3, 4], [7, 8, 9, 40, 41]])
    turned = apply_rotary_factors(x, rotary_factors(places, 6))
    torch.testing.assert_close(turned, reference_rotate(x, places), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    shifted = apply_rotary_factors(x, rotary_factors(places + 11, 6))
    torch.testing.assert_close(turned @ turned.transpose(-1, -2), shifted @ shifted.transpose(-1, -2))


@pytest.mark.parametrize("position", ["none", "sinusoidal", "rotary"])
def test_reading_in_parts_equals_reading_at_once(position: str) -> None:
    model = started(KernelEncoderModel(KernelEncoderConfig(**SIZES, position=position, causal=True)))
    ids = torch.randint(1, 30, (2, 7), generator=torch.Generator().manual_seed(2))
    whole = model(ids).last_hidden_state
    first = model(ids[:, :3], use_cache=True)
    second = model(ids[:, 3:6], state=first.state, use_cache=True)
    third = model(ids[:, 6:], state=second.state)
    parts = torch.cat([part.last_hidden_state for part in (first, second, third)], dim=1)
    torch.testing.assert_close(parts, whole, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("position", ["none", "sinusoidal", "rotary"])
def test_a_causal_encoder_does_not_read_ahead(position: str) -> None:
    model = started(KernelEncoderModel(KernelEncoderConfig(**SIZES, position=position, causal=True)))
    ids = torch.randint(1, 30, (2, 7), generator=torch.Generator().manual_seed(2))
    changed = ids.clone()
    changed[:, 4] = ids[:, 4] % 29 + 1
    before, after = model(ids).last_hidden_state, model(changed).last_hidden_state
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.equal(before[:, 4], after[:, 4])


@pytest.mark.parametrize("attention", ["dot", "rbf", "mikan"])
def test_a_state_holds_no_more_keys_than_it_may(attention: str) -> None:
    """One layer: then a bounded memory is the same as a mask that leaves out what is further away."""
    sizes = {**SIZES, "num_layers": 1, "attention": attention, "num_features": 4}
    model = started(KernelEncoderModel(KernelEncoderConfig(**sizes, causal=True, memory_length=2)))
    ids = torch.randint(1, 30, (1, 6), generator=torch.Generator().manual_seed(2))
    state = model(ids[:, :5], use_cache=True).state
    assert {x.size(2) for x in state[1] if x.dim() == 4} == {2}
    last = model(ids[:, 5:], state=state, output_attentions=True)
    whole = model(ids, output_attentions=True)
    expected = whole.attentions[0][:, :, -1:, -3:]
    torch.testing.assert_close(last.attentions[0], expected / expected.sum(-1, keepdim=True))


def test_generation_with_the_state_equals_reading_all_words_again() -> None:
    model = started(KernelEncoderForCausalLM(KernelEncoderConfig(**SIZES, causal=True)))
    ids = torch.randint(1, 30, (2, 4), generator=torch.Generator().manual_seed(2))
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    streamed = model.generate(ids, **options, use_cache=True)
    assert torch.equal(streamed, model.generate(ids, **options, use_cache=False))
    found = ids
    for _ in range(6):
        found = torch.cat([found, model(found).logits[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(streamed, found)
    beams = model.generate(ids, **options, num_beams=3, use_cache=True)
    assert torch.equal(beams, model.generate(ids, **options, num_beams=3, use_cache=False))


def test_generation_refuses_padded_prompts() -> None:
    model = KernelEncoderForCausalLM(KernelEncoderConfig(**SIZES, causal=True))
    with pytest.raises(ValueError, match="prompts of one length, without padding"):
        model.generate(torch.tensor([[0, 3], [4, 5]]), attention_mask=torch.tensor([[0, 1], [1, 1]]), max_new_tokens=1)


def test_heads_of_what_comes_next_refuse_to_read_ahead_and_a_model_without_words() -> None:
    with pytest.raises(ValueError, match="causal=False: a model of what comes next must not read"):
        KernelEncoderForCausalLM(KernelEncoderConfig(**SIZES))
    with pytest.raises(ValueError, match="vocab_size is 0"):
        KernelEncoderForCausalLM(KernelEncoderConfig(causal=True))


def test_no_state_stands_for_steps_that_read_later_ones() -> None:
    model = KernelEncoderModel(KernelEncoderConfig(**SIZES))
    with pytest.raises(ValueError, match="causal=False: earlier steps read later ones"):
        model(torch.tensor([[3, 4]]), use_cache=True)


def test_regression_counts_rows_with_a_target_alone() -> None:
    model = started(KernelEncoderForRegression(KernelEncoderConfig(input_size=3, hidden_size=8, num_heads=2)))
    rows = torch.randn(1, 5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.tensor([[1.0, torch.nan, -2.0, torch.nan, 0.5]], dtype=torch.float64)
    output = model(inputs_embeds=rows, labels=labels)
    errors = (output.logits[0, [0, 2, 4], 0] - labels[0, [0, 2, 4]]).square()
    torch.testing.assert_close(output.loss, errors.mean())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"hidden_size": 9, "position": "none"}, "hidden_size 9 must be a multiple of num_heads = 2"),
        ({"hidden_size": 7, "num_heads": 7}, "hidden_size 7 must be even with position='sinusoidal'"),
        ({"hidden_size": 6, "position": "rotary"}, "hidden_size / num_heads = 3 must be even with position='rotary'"),
        ({"num_features": 7, "attention": "mikan"}, "num_features must be even with attention='mikan'.*got 7"),
        ({"p_norm": 0}, "p_norm must be above 0, got 0"),
        ({"p_norm": float("inf")}, "p_norm must be a finite number"),
        ({"kl_lambda": -1}, "kl_lambda must be 0 or above, got -1"),
        (
            {"kernel_gate": True},
            "kernel_gate=True with attention='dot', which learns no kernel; expected ika, ikan or mikan",
        ),
        ({"memory_length": -1}, "memory_length must be 0 or above, got -1"),
        ({"inner_size": -1}, "inner_size must be 0 or above, got -1"),
        ({"feature_names": ["a", "b"]}, "feature_names has 2 entries, but input_size is 1"),
    ],
    ids=str,
)
def test_configurations_that_cannot_be(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        KernelEncoderConfig(**{**SIZES, **fields})


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("attention", ["dot", "rbf", "ika", "ikan", "mikan"])
def test_a_batch_of_empty_texts_gives_empty_outputs(attention: str, causal: bool) -> None:
    config = KernelEncoderConfig(**SIZES, attention=attention, causal=causal, num_features=8)
    none = torch.zeros(2, 0, dtype=torch.int64)
    for trained in (True, False):
        output = KernelEncoderModel(config).train(trained)(none)
        assert output.last_hidden_state.shape == (2, 0, 8)
        assert output.pooler_output.tolist() == torch.zeros(2, 8).tolist()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("attention", ["dot", "ika", "ikan", "mikan"])
def test_half_precision_is_near_single_precision(attention: str, dtype: torch.dtype) -> None:
    """Also where attention is far from uniform: with weights four times as large as they start."""
    torch.manual_seed(0)
    model = KernelEncoderModel(KernelEncoderConfig(vocab_size=200, hidden_size=128, attention=attention)).eval()
    ids = torch.randint(2, 200, (4, 24))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1 and "kernel" not in name:
                weight.mul_(4)
        single = model(ids).last_hidden_state
        half = model.to(dtype)(ids).last_hidden_state.float()
    assert (half - single).norm() < 0.02 * single.norm()


def test_a_regression_reads_scaled_rows_and_answers_in_the_unit_of_the_target() -> None:
    model = started(KernelEncoderForRegression(KernelEncoderConfig(input_size=2, hidden_size=8, num_heads=2)))
    rows = torch.tensor([[1.0, 30.0], [4.0, -2.0], [0.5, 7.0]], dtype=torch.float64)
    model.scaling.set_offsets_and_scales([1.5, 10.0, 100.0], [0.5, 20.0, 3.0])
    scaled = (rows - torch.tensor([1.5, 10.0])) / torch.tensor([0.5, 20.0])
    expected = 3 * model(inputs_embeds=scaled.unsqueeze(0)).logits[0].float() + 100
    torch.testing.assert_close(model.predict(rows), expected)


def test_scaling_keeps_its_digits_in_half_precision_and_in_a_file(tmp_path: Path) -> None:
    model = KernelEncoderForRegression(KernelEncoderConfig(input_size=1, hidden_size=8, num_heads=2))
    model.scaling.set_offsets_and_scales([1_330_000_000.25, 1 / 3], [1e-7, 1 / 7])
    model.to(torch.bfloat16).save_pretrained(tmp_path)
    again = KernelEncoderForRegression.from_pretrained(tmp_path)
    assert again.scaling.offsets_and_scales.tolist() == [[1_330_000_000.25, 1 / 3], [1e-7, 1 / 7]]


def test_scaling_that_cannot_be_is_refused() -> None:
    model = KernelEncoderForRegression(KernelEncoderConfig(input_size=2, hidden_size=8, num_heads=2))
    with pytest.raises(ValueError, match="2 offsets and scales; expected 3, the target's last"):
        model.scaling.set_offsets_and_scales([0.0, 0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match=r"scales of rows must be above 0, got 0\.0"):
        model.scaling.set_offsets_and_scales([0.0, 0.0, 0.0], [1.0, 1.0, 0.0])


def test_the_divergence_is_there_without_labels_for_losses_of_a_caller() -> None:
    """As one with label smoothing, which a training computes from the scores."""
    config = KernelEncoderConfig(**SIZES, attention="ika", num_features=4, kl_lambda=0.3, num_labels=2)
    model = started(KernelEncoderForSequenceClassification(config))
    ids, labels = torch.tensor([[3, 4, 5], [6, 7, 8]]), torch.tensor([0, 1])
    alone, trained = model(ids), model(ids, labels=labels)
    torch.testing.assert_close(alone.auxiliary_loss, 0.3 * alone.kl.mean())
    expected = torch.nn.functional.cross_entropy(alone.logits, labels) + alone.auxiliary_loss
    torch.testing.assert_close(trained.loss, expected)
