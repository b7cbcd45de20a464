"""The wide part of text classifiers: what it adds to the scores, when it is left out, and what the others then read."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError

from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.layers_text_input import PretrainedEmbedding
from ctxzoo.models.layers_wide import LinearTextScores, tfidf
from ctxzoo.models.modeling_contextualizer import ContextualizerForSequenceClassification
from ctxzoo.models.modeling_lama import LamaForSequenceClassification
from ctxzoo.models.modeling_text_baseline import TextBaselineForSequenceClassification

SIZES: dict[str, Any] = {"vocab_size": 30, "word_dim": 6, "position_dim": 0, "num_labels": 3}
WIDE: dict[str, Any] = {"wide_buckets": 10, "wide_char_buckets": 4, "deep_scale": 0.5}
HEADS = {
    "text_baseline": (TextBaselineForSequenceClassification, TextBaselineConfig, {"encoder": "bigru"}),
    "contextualizer": (ContextualizerForSequenceClassification, ContextualizerConfig, {"initial_context": "ones"}),
    "lama": (LamaForSequenceClassification, LamaConfig, {"recurrent_size": 3, "num_heads": 2}),
}
IDS = torch.tensor([[3, 7, 3, 21, 25, 27, 27], [11, 29, 0, 0, 0, 0, 0], [22, 28, 0, 0, 0, 0, 0]])
MASK = (IDS > 0).long()
NUM_WORDS = 20


def build(name: str, **fields: Any) -> Any:
    torch.manual_seed(0)
    head, config, own = HEADS[name]
    model = head(config(**SIZES, **own, **{**WIDE, **fields})).double()
    generator = torch.Generator().manual_seed(1)
    model.init_wide_part(
        torch.arange(1, 30),
        inverse_document_frequency=torch.rand(29, dtype=torch.float64, generator=generator),
        weight=torch.randn(29, 3, dtype=torch.float64, generator=generator),
        bias=torch.randn(3, dtype=torch.float64, generator=generator),
    )
    return model.eval()


def scores_of_words(model: Any) -> torch.Tensor:
    """What the model gives the words alone, without its wide part."""
    wide, model.wide = model.wide, None
    try:
        words = IDS * (IDS < NUM_WORDS)
        return model(words, attention_mask=(words > 0).long()).logits
    finally:
        model.wide = wide


@pytest.mark.parametrize("name", HEADS)
def test_scores_are_those_of_the_words_and_of_tfidf(name: str) -> None:
    model = build(name)
    table = model.wide
    values = tfidf(IDS, MASK.bool(), table.inverse_document_frequency[IDS], [0, 26])
    weight = table.weight_scales[:, None] * table.weight
    linear = torch.zeros(3, 30, dtype=torch.float64).scatter_add(1, IDS, values) @ weight + table.bias
    found = model(IDS, attention_mask=MASK).logits
    torch.testing.assert_close(found, 0.5 * scores_of_words(model) + linear)


@pytest.mark.parametrize("name", HEADS)
def test_words_are_read_alike_with_and_without_their_ngrams(name: str) -> None:
    model = build(name)
    short, whole = (model(IDS, attention_mask=MASK, output_hidden_states=asked) for asked in (False, True))
    torch.testing.assert_close(short.logits, whole.logits)
    assert whole.hidden_states[0].size(1) == IDS.size(1)
    assert whole.hidden_states[0][:, 3:].abs().max() == 0  # n-grams are no tokens
    weights = model.token_weights(IDS, MASK)
    assert weights[..., 3:].abs().max() == 0


@pytest.mark.parametrize("num_rows", [None, 25])
@pytest.mark.parametrize("width", [0, 4])
def test_without_a_gradient_each_id_of_a_text_is_read_once(num_rows: int | None, width: int) -> None:
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, dtype=torch.float64, generator=generator)

    layer = LinearTextScores(30, 3, [0, 12, 20], num_rows, width).double().requires_grad_(False)
    for values in (layer.inverse_document_frequency, layer.bias, layer.vector_weight):
        if values is not None:
            values.copy_(draw(*values.shape))
    layer.weight.copy_(torch.randint(-127, 128, layer.weight.shape, generator=generator))
    if layer.ids is not None:
        layer.ids.copy_(torch.randperm(30, generator=generator)[:25])
        layer.inverse_document_frequency[0] = 0
        layer.weight_scales.copy_(draw(26))
    table = PretrainedEmbedding(12, 4, trained_rows=12).double()
    vectors = torch.randint(-127, 128, (12, 4), dtype=torch.int8, generator=generator)
    table.init_from_vectors(vectors, draw(4), draw(12, 4), draw(12) * (torch.arange(12) != 5))
    ids = torch.randint(0, 29, (6, 40), generator=generator)
    ids[1:] %= torch.tensor([[29], [11], [8], [5], [1]])  # few ids, many times; words alone
    ids += 1
    mask = torch.rand(ids.shape, generator=generator) < 0.8
    mask[2], ids[5] = False, 5  # no id; a word without a vector
    for texts in (slice(None), slice(2, 3), slice(0, 1)):
        expected = layer.position_contributions(ids[texts], mask[texts], table).sum(dim=1) + layer.bias
        with torch.no_grad():
            torch.testing.assert_close(layer(ids[texts], mask[texts], table), expected)
            torch.testing.assert_close(layer(ids[texts].int(), mask[texts], table), expected)
    with torch.no_grad():
        assert torch.equal(layer(ids[:2, :0], mask[:2, :0], table), layer.bias.expand(2, 3))


def test_left_out_in_training_the_rest_learns_by_itself() -> None:
    model = build("text_baseline", wide_dropout=1.0)
    model.train()
    found = model(IDS, attention_mask=MASK).logits
    torch.testing.assert_close(found, scores_of_words(model))
    model.eval()
    assert not torch.allclose(model(IDS, attention_mask=MASK).logits, found)


def test_the_rate_counts_whole_texts() -> None:
    model = build("text_baseline", wide_dropout=0.5)
    torch.manual_seed(0)
    alone, both = scores_of_words(model), model(IDS, attention_mask=MASK).logits
    model.train()
    left_out = kept = 0
    for _ in range(60):
        for row, found in enumerate(model(IDS, attention_mask=MASK).logits):
            left_out += torch.allclose(found, alone[row])
            kept += torch.allclose(found, both[row])
    assert left_out + kept == 180
    assert 60 < left_out < 120


def test_a_started_wide_part_is_not_trained() -> None:
    model = build("text_baseline")
    model(IDS, attention_mask=MASK, labels=torch.tensor([0, 1, 2])).loss.backward()
    assert not any(parameter.requires_grad for parameter in model.wide.parameters())
    assert model.classifier.weight.grad is not None


def test_starts_that_do_not_fit_are_refused() -> None:
    model = build("text_baseline")
    numbers = {"inverse_document_frequency": torch.zeros(5), "weight": torch.zeros(5, 2), "bias": torch.zeros(3)}
    with pytest.raises(ValueError, match=r"weight of shape \(6, 2\); expected \(6, 3\)"):
        model.init_wide_part(torch.arange(5), **numbers)
    plain = TextBaselineForSequenceClassification(TextBaselineConfig(**SIZES))
    with pytest.raises(ValueError, match="needs wide_buckets above 0"):
        plain.init_wide_part(torch.arange(5), **numbers)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"wide_buckets": 30}, "below vocab_size = 30, got 30"),
        ({"wide_buckets": 4, "wide_char_buckets": 5}, "from 0 to wide_buckets = 4, got 5"),
        ({"wide_dropout": 1.5}, "from 0 to 1, got 1.5"),
        ({"deep_scale": -1.0}, "0 or more, got -1.0"),
    ],
)
def test_sizes_that_cannot_be_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(StrictDataclassError, match=message):
        TextBaselineConfig(**{**SIZES, **WIDE, **fields})


def test_ngrams_have_one_reader() -> None:
    with pytest.raises(StrictDataclassError, match="ngram_buckets=4 and wide_buckets=10"):
        LamaConfig(**SIZES, **WIDE, linear_mean=True, ngram_buckets=4)
