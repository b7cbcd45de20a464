"""The text baselines against their equations: one text at a time, without padding, in float64."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers.utils.generic import ModelOutput

from ctxzoo.hub.folder_checks import check_tensor_shapes, read_tensor_shapes
from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.layers_text_baseline import TransformerEncoder
from ctxzoo.models.modeling_contextualizer import ContextualizerModel
from ctxzoo.models.modeling_text_baseline import TextBaselineForSequenceClassification, TextBaselineModel
from tests.references.position import reference_sinusoidal_positions
from tests.references.text_baseline import reference_attention_overlap

SIZES: dict[str, Any] = {
    "vocab_size": 20,
    "word_dim": 6,
    "position_dim": 4,
    "rank": 3,
    "num_steps": 3,
    "num_filters": 4,
    "recurrent_size": 4,
    "attention_size": 5,
    "attention_heads": 3,
    "num_heads": 2,
    "num_layers": 2,
}
ENCODERS = ("mean", "attention", "cnn", "bigru", "transformer", "self_attentive", "bilinear_attention")
TEXTS = ([3, 7, 3, 9, 1, 12], [5], [8, 2, 19])


def model_of(encoder: str, **changes: Any) -> TextBaselineModel:
    torch.manual_seed(0)
    model: TextBaselineModel = TextBaselineModel(TextBaselineConfig(encoder=encoder, **{**SIZES, **changes}))
    return model.double().eval()


def read(model: TextBaselineModel, texts: Any = TEXTS) -> ModelOutput:
    width = max(len(text) for text in texts)
    ids = torch.tensor([[*text, *[0] * (width - len(text))] for text in texts])
    with torch.no_grad():
        return model(ids, (ids > 0).long(), output_attentions=True, output_hidden_states=True)


def tokens_of(model: TextBaselineModel, text: list[int]) -> torch.Tensor:
    words = model.embeddings.words.weight[text].detach()
    return torch.cat([words, reference_sinusoidal_positions(len(text), model.config.position_dim)], dim=1)


def states_of(model: TextBaselineModel, text: list[int]) -> torch.Tensor:
    gru = nn.GRU(10, 4, batch_first=True, bidirectional=True).double()
    gru.load_state_dict(model.layers.rnn.rnn.state_dict())
    return gru(tokens_of(model, text).unsqueeze(0))[0][0].detach()


def close(found: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


def test_mean_of_the_words_with_their_positions() -> None:
    model = model_of("mean")
    output = read(model)
    for row, text in enumerate(TEXTS):
        close(output.pooler_output[row], tokens_of(model, text).mean(dim=0))


def test_attention_gives_each_token_one_weight() -> None:
    model = model_of("attention")
    output, layer = read(model), model.layers
    first = layer.start.drawn[0]
    rank = SIZES["rank"]
    matrix = (layer.token_factors.T @ layer.context_factors).detach() / rank**0.5  # the bilinear form x A c
    for row, text in enumerate(TEXTS):
        x, context = tokens_of(model, text), first
        for step in range(3):
            a = torch.softmax(x @ matrix @ context, dim=0)
            close(output.attentions[step][row, : len(text)], a)
            context = a @ x
        close(output.pooler_output[row], context)


def test_attention_is_second_order_attention_with_one_number_for_w() -> None:
    model = model_of("attention")
    settings = {name: SIZES[name] for name in ("vocab_size", "word_dim", "position_dim", "rank", "num_steps")}
    second = ContextualizerModel(ContextualizerConfig(**settings, freeze_embeddings=False, initial_context="random"))
    second = second.double().eval()
    with torch.no_grad():
        second.embeddings.words.weight.copy_(model.embeddings.words.weight)
        second.start.drawn.copy_(model.layers.start.drawn)
        second.steps.token_factors.copy_(model.layers.token_factors)
        second.steps.context_factors.copy_(model.layers.context_factors)
        second.steps.feature_factors.fill_(SIZES["rank"] ** -0.5)
        ids = torch.tensor([TEXTS[0]])
        close(model(ids).pooler_output, second(ids).context)


def test_windows_lie_within_the_text_or_are_filled_up_with_zeros() -> None:
    model = model_of("cnn", kernel_sizes=[1, 3, 4])
    output = read(model)
    for row, text in enumerate(TEXTS):
        x = tokens_of(model, text)
        found = []
        for convolution in model.layers.convolutions:
            size = convolution.kernel_size[0]
            filled = torch.cat([x, x.new_zeros(max(0, size - len(text)), 10)])
            windows = [filled[first : first + size] for first in range(len(filled) - size + 1)]
            scores = [torch.einsum("fmw,wm->f", convolution.weight, part) + convolution.bias for part in windows]
            found.append(torch.stack(scores).amax(dim=0).clamp(min=0))
        close(output.pooler_output[row], torch.cat(found).detach())


@pytest.mark.parametrize("position_dim", [0, 4])
@pytest.mark.parametrize("texts", [([3, 7, 3, 3, 7, 12], [3], [], [7, 3, 7]), ([], [])])
def test_the_cnn_reads_repeated_words_alike_with_and_without_shares(position_dim: int, texts: Any) -> None:
    model = model_of("cnn", position_dim=position_dim)
    width = max(map(len, texts))
    ids = torch.tensor([[*text, *[0] * (width - len(text))] for text in texts], dtype=torch.long)
    with torch.no_grad():
        expected = model(ids, ids > 0, output_attentions=True).pooler_output
        close(model(ids, ids > 0).pooler_output, expected)


def test_a_window_counts_for_all_of_its_words() -> None:
    model = model_of("cnn", kernel_sizes=[2], num_filters=1, position_dim=0)
    with torch.no_grad():
        model.layers.convolutions[0].weight.fill_(1.0)
        model.layers.convolutions[0].bias.fill_(0.0)
        model.embeddings.words.weight.zero_()
        model.embeddings.words.weight[[4, 5]] = 1.0
    weights = read(model, ([1, 4, 5, 2], [4])).attentions[0]
    assert weights.tolist() == [[0.0, 0.5, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0]]


def test_states_of_the_gru_and_their_maximum() -> None:
    model = model_of("bigru")
    output = read(model)
    for row, text in enumerate(TEXTS):
        states = states_of(model, text)
        close(output.last_hidden_state[row, : len(text)], states)
        close(output.pooler_output[row], states.amax(dim=0))


def test_self_attentive_heads_one_after_the_other() -> None:
    model = model_of("self_attentive")
    output, scores = read(model), model.layers.scores
    for row, text in enumerate(TEXTS):
        h = states_of(model, text)
        parts = []
        for head in range(3):
            logits = [scores.heads.weight[head] @ torch.tanh(scores.hidden.weight @ state) for state in h]
            a = torch.softmax(torch.stack(logits), dim=0).detach()
            close(output.attentions[head][row, : len(text)], a)
            parts.append(sum(weight * state for weight, state in zip(a, h, strict=True)))
        close(output.pooler_output[row], torch.cat(parts))


def test_bilinear_attention_written_out() -> None:
    model = model_of("bilinear_attention")
    output, scores = read(model), model.layers.scores
    w, b, form, c = (x.detach() for x in (*scores.projection.parameters(), scores.form.weight, scores.context))
    for row, text in enumerate(TEXTS):
        h = states_of(model, text)
        a = torch.softmax(torch.stack([c @ form @ torch.tanh(w @ state + b) for state in h]), dim=0)
        close(output.attentions[0][row, : len(text)], a)
        close(output.pooler_output[row], sum(weight * state for weight, state in zip(a, h, strict=True)))


def test_weights_of_bilinear_attention_start_from_a_normal_distribution() -> None:
    config = TextBaselineConfig(encoder="bilinear_attention", vocab_size=5, recurrent_size=200)
    torch.manual_seed(0)
    for values in TextBaselineModel(config).layers.scores.parameters():
        assert abs(values.mean()) < 0.03
        assert 0.09 < values.std() < 0.11


def test_heads_of_self_attentive_may_change_places() -> None:
    model = model_of("self_attentive")
    before, order = read(model), [2, 0, 1]
    with torch.no_grad():
        model.layers.scores.heads.weight.copy_(model.layers.scores.heads.weight[order].clone())
    after = read(model)
    assert torch.equal(after.last_hidden_state, before.last_hidden_state)
    close(torch.stack(after.attentions), torch.stack(before.attentions)[order])
    close(after.pooler_output.view(3, 3, 8), before.pooler_output.view(3, 3, 8)[:, order])


@pytest.mark.parametrize("encoder", ["self_attentive", "bilinear_attention"])
def test_a_text_of_one_word_has_its_state_from_every_head(encoder: str) -> None:
    model = model_of(encoder)
    (state,) = states_of(model, TEXTS[1])
    for part in read(model).pooler_output[1].split(8):
        close(part, state)


def classifier_of(encoder: str, **changes: Any) -> TextBaselineForSequenceClassification:
    torch.manual_seed(0)
    config = TextBaselineConfig(encoder=encoder, **{**SIZES, "num_labels": 3, **changes})
    model: TextBaselineForSequenceClassification = TextBaselineForSequenceClassification(config)
    return model.double().eval()


def test_overlap_of_the_heads_is_part_of_the_loss() -> None:
    ids = torch.tensor([[3, 7, 3], [5, 0, 0], [0, 0, 0]])
    inputs = {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": torch.tensor([0, 2, 1])}
    plain = classifier_of("self_attentive", overlap_penalty=0)(**inputs)
    assert plain.auxiliary_loss is None
    model = classifier_of("self_attentive", overlap_penalty=0.25)
    output = model(**inputs)
    assert output.attentions is None
    assert torch.equal(output.logits, plain.logits)
    weights = model.token_weights(ids, inputs["attention_mask"])
    assert weights.shape == (3, 3, 3)
    close(output.auxiliary_loss, 0.25 * reference_attention_overlap(weights))
    close(output.loss, plain.loss + output.auxiliary_loss)
    assert model(ids).loss is None
    others = [classifier_of(encoder)(**inputs) for encoder in ENCODERS if encoder != "self_attentive"]
    assert all(other.auxiliary_loss is None for other in others)


def test_classifier_with_a_hidden_layer() -> None:
    model = classifier_of("mean", classifier_size=7, classifier_dropout=0.5)
    ids = torch.tensor([TEXTS[0]])
    vector = model.encoder(ids).pooler_output
    hidden, output = model.classifier.hidden, model.classifier.output
    assert (hidden.weight.shape, output.weight.shape) == ((7, 10), (3, 7))
    close(model(ids).logits, torch.relu(vector @ hidden.weight.T + hidden.bias) @ output.weight.T + output.bias)
    model.train()
    torch.manual_seed(1)
    assert torch.equal(model.encoder(ids).pooler_output, vector)  # this dropout is on the hidden units alone
    assert not torch.equal(model(ids).logits, model(ids).logits)


def torchs_encoder() -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(10, 2, 40, 0.3, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def with_names_of_torch(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name.replace("in_proj.", "in_proj_"): value for name, value in state.items()}


def test_the_transformer_is_that_of_torch_from_its_start_to_its_dropout() -> None:
    """A seed, a state and a score of the time when it was torch's module mean what they meant."""
    model, built = model_of("mean"), []
    for build in (torchs_encoder, lambda: TransformerEncoder(10, 0, 2, 2, 0.3)):
        torch.manual_seed(3)
        module = build()
        module.apply(model._init_weights)
        built.append((module, torch.rand(1)))
    (theirs, their_draw), (ours, our_draw) = built
    expected = {f"layers.{name}": x for name, x in theirs.state_dict().items()}
    found = with_names_of_torch(ours.state_dict())
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], x) for name, x in expected.items())
    assert torch.equal(our_draw, their_draw)
    ours.load_state_dict({name: x + 0.1 for name, x in expected.items()})
    theirs.load_state_dict({name: x + 0.1 for name, x in theirs.state_dict().items()})
    x, mask = torch.randn(2, 5, 10), torch.tensor([[True] * 5, [True, True, True, False, False]])
    for training in (True, False):
        torch.manual_seed(5)
        wanted = theirs.train(training)(x, src_key_padding_mask=~mask)
        torch.manual_seed(5)
        states, _, _ = ours.train(training)(x, mask)
        torch.testing.assert_close(states[mask], wanted[mask], rtol=1e-5, atol=1e-6)


def test_a_checkpoint_with_the_names_of_torch_is_read(tmp_path: Path) -> None:
    model = classifier_of("transformer").float()
    model.save_pretrained(tmp_path, state_dict=with_names_of_torch(model.state_dict()))
    shapes = read_tensor_shapes(tmp_path / "model.safetensors")
    assert "encoder.layers.layers.layers.0.self_attn.in_proj_weight" in shapes
    check_tensor_shapes(shapes, tmp_path, TextBaselineForSequenceClassification, model.config)
    found = TextBaselineForSequenceClassification.from_pretrained(tmp_path).state_dict()
    assert all(torch.equal(found[name], x) for name, x in model.state_dict().items())


@pytest.mark.parametrize("changes", [{}, {"transformer_size": 10, "position_dim": 0}])
def test_transformer_layers_written_out(changes: dict[str, int]) -> None:
    model = model_of("transformer", **changes)
    output = read(model)
    for row, text in enumerate(TEXTS):
        x = tokens_of(model, text)
        if changes:
            projection = model.layers.projection
            x = x @ projection.weight.T + projection.bias + reference_sinusoidal_positions(len(text), 10)
        for layer in model.layers.layers.layers:
            attention = layer.self_attn
            query, key, value = attention.in_proj(x).chunk(3, dim=1)
            heads = []
            for head in (slice(0, 5), slice(5, 10)):
                weights = torch.softmax(query[:, head] @ key[:, head].T / 5**0.5, dim=1)
                heads.append(weights @ value[:, head])
            x = layer.norm1(x + attention.out_proj(torch.cat(heads, dim=1)))
            x = layer.norm2(x + layer.linear2(torch.relu(layer.linear1(x))))
        close(output.pooler_output[row], x.mean(dim=0).detach())


@pytest.mark.parametrize("encoder", ENCODERS)
def test_weights_sum_to_one_and_a_text_without_words_has_the_vector_zero(encoder: str) -> None:
    model = model_of(encoder)
    output = read(model, (*TEXTS, []))
    assert output.pooler_output[3].tolist() == [0.0] * model.config.pooled_size
    # A filter that stays at 0 everywhere has its maximum somewhere too.
    for weights in output.attentions:
        close(weights.sum(dim=1), torch.tensor([1.0, 1.0, 1.0, 0.0], dtype=torch.float64))
        assert weights[1].tolist() == [1.0, *[0.0] * 5]


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("ids", [[[4, 6], [0, 0]], [[0, 0], [0, 0]], [[], []]])
def test_a_text_without_words_has_scores_and_finite_gradients(encoder: str, ids: list[list[int]]) -> None:
    model, words = classifier_of(encoder).train(), torch.tensor(ids, dtype=torch.long)
    output = model(words, (words > 0).long(), labels=torch.tensor([0, 1]))
    close(output.logits[1], model.classifier.bias)
    output.loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_one_word_more_or_less_than_a_window_gives_gradients_to_every_filter() -> None:
    model = model_of("cnn", kernel_sizes=[3])
    for length in (1, 2, 3, 4):
        x = torch.randn(1, length, 10, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda x: model(inputs_embeds=x).pooler_output, (x,))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Words apart: 2 * 270 + 2 of the linear layer and what the encoder has.
        ("mean", 542),
        ("attention", 2 * 100 * 270 + 542),
        ("cnn", 100 * (3 + 4 + 5) * 270 + 300 + 602),
        ("bigru", 2 * (3 * 100 * (270 + 100) + 6 * 100) + 402),
        ("transformer", 4 * 270 * 270 + 4 * 270 + 8 * 270 * 270 + 5 * 270 + 4 * 270 + 542),
    ],
)
def test_parameter_counts(name: str, expected: int) -> None:
    model = TextBaselineForSequenceClassification(TextBaselineConfig.of_variant(name, vocab_size=11))
    assert sum(p.numel() for p in model.parameters()) - 11 * 250 == expected


DOCUMENT_SIZES: dict[str, Any] = {
    "vocab_size": 11,
    "word_dim": 100,
    "position_dim": 0,
    "recurrent_size": 50,
    "classifier_size": 512,
    "classifier_dropout": 0.4,
}


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize(
    ("name", "attention", "pooled_size"), [("self_attentive", 45_500, 3_000), ("bilinear_attention", 20_200, 100)]
)
def test_parameter_counts_of_attention_over_a_gru(name: str, attention: int, pooled_size: int) -> None:
    model = TextBaselineForSequenceClassification(TextBaselineConfig.of_variant(name, **DOCUMENT_SIZES))
    assert count(model.encoder.layers.scores) == attention
    assert count(model.encoder.layers.rnn) == 45_600
    assert count(model.classifier) == pooled_size * 512 + 512 + 512 * 2 + 2


def test_parameter_counts_of_the_wide_transformer() -> None:
    with torch.device("meta"):
        model = TextBaselineForSequenceClassification(
            TextBaselineConfig.of_variant("transformer_1024", **DOCUMENT_SIZES)
        )
    (layer,) = model.encoder.layers.layers.layers
    assert (count(layer), count(layer.self_attn)) == (12_596_224, 4_198_400)
    assert (layer.self_attn.num_heads, layer.rate) == (16, 0.1)
    assert count(model.encoder.layers.projection) == 100 * 1024 + 1024
    assert model.classifier.hidden.in_features == 1024


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder": "transformer", "num_heads": 4}, "word_dim \\+ position_dim = 270 must be a multiple of num_heads"),
        (
            {"encoder": "transformer", "transformer_size": 20},
            "transformer_size = 20 must be a multiple of num_heads = 6",
        ),
        ({"transformer_size": 7}, "transformer_size must be even .* got 7"),
        ({"transformer_size": -2}, "transformer_size must be even .* got -2"),
        ({"classifier_size": -1}, r"classifier_size must be at least 0 \(a linear layer\), got -1"),
        ({"classifier_dropout": -0.5}, "classifier_dropout must be at least 0 and below 1, got -0.5"),
        ({"attention_size": 0}, "attention_size must be at least 1, got 0"),
        ({"attention_heads": 0}, "attention_heads must be at least 1, got 0"),
        ({"overlap_penalty": -0.1}, "overlap_penalty must be 0 or above, got -0.1"),
        ({"kernel_sizes": []}, r"kernel_sizes must hold numbers of words, at least 1, got \[\]"),
        ({"kernel_sizes": [3, 0]}, r"at least 1, got \[3, 0\]"),
        ({"num_steps": 0}, "num_steps must be at least 1, got 0"),
        ({"position_dim": 3}, "position_dim must be even .* got 3"),
        ({"embedding_bound": 0}, "embedding_bound must be above 0, got 0"),
        ({"pooled_dropout": 1.0}, "pooled_dropout must be at least 0 and below 1, got 1.0"),
        ({"encoder": "lstm"}, "lstm"),
    ],
)
def test_config_refuses(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        TextBaselineConfig(**changes)


def test_an_unknown_variant_is_told_the_known_ones() -> None:
    with pytest.raises(
        ValueError,
        match=f"unknown TextBaselineConfig variant 'avg'; known: {', '.join(TextBaselineConfig.variants)}",
    ):
        TextBaselineConfig.of_variant("avg", vocab_size=10)
