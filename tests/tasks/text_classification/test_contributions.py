"""What words add to the scores of labels: exact for the linear part, complete for every network, independent of how."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

import ctxzoo.tasks.text_classification.contributions as contributions_file
from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.models.configuration_kernel_encoder import KernelEncoderConfig
from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.modeling_beta_lstm import BetaLstmForSequenceClassification
from ctxzoo.models.modeling_contextualizer import ContextualizerForSequenceClassification
from ctxzoo.models.modeling_kernel_encoder import KernelEncoderForSequenceClassification
from ctxzoo.models.modeling_lama import LamaForSequenceClassification
from ctxzoo.models.modeling_text_baseline import TextBaselineForSequenceClassification
from ctxzoo.models.ops_ngrams import generate_character_ngrams, hash_ngram
from ctxzoo.models.tokenization_word import WordTokenizer, build_word_tokenizer
from ctxzoo.tasks.text_classification.contributions import explain_text
from ctxzoo.tasks.text_classification.explanation import explanation_html

WORDS = ["the", "lamp", "is", "not", "solid", "good", "bad", "and"]
NGRAMS: dict[str, Any] = {"ngram_order": 2, "char_ngrams": (2, 3), "ngram_buckets": 64, "char_ngram_buckets": 32}
TEXT = "The lamp, is not  solid and wobly not good"
SIZES: dict[str, Any] = {"word_dim": 6, "position_dim": 0, "num_labels": 3, "embedding_bound": 1.0}
CLASSIFIERS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    **{
        encoder: (TextBaselineForSequenceClassification, TextBaselineConfig, {"encoder": encoder, **own})
        for encoder, own in {
            "mean": {},
            "cnn": {"kernel_sizes": [2, 3]},
            "bigru": {"recurrent_size": 4},
            "transformer": {"transformer_size": 8, "num_heads": 2},
            "attention": {},
            "self_attentive": {"recurrent_size": 4, "attention_size": 5, "attention_heads": 2},
        }.items()
    },
    "contextualizer": (ContextualizerForSequenceClassification, ContextualizerConfig, {"eval_context": "fixed"}),
    "tokenwise": (ContextualizerForSequenceClassification, ContextualizerConfig, {"variant": "tokenwise"}),
    "lama": (LamaForSequenceClassification, LamaConfig, {"recurrent_size": 4, "num_heads": 2}),
    "beta_lstm": (BetaLstmForSequenceClassification, BetaLstmConfig, {"hidden_size": 4, "num_layers": 1}),
    "kernel_encoder": (
        KernelEncoderForSequenceClassification,
        KernelEncoderConfig,
        {"word_dim": 8, "hidden_size": 8, "num_heads": 2, "num_layers": 1},
    ),
}


def build(name: str, tokenizer: WordTokenizer, **fields: Any) -> Any:
    head, config, own = CLASSIFIERS[name]
    torch.manual_seed(0)
    given = {**SIZES, "vocab_size": tokenizer.num_ids, **own, **fields}
    if config is KernelEncoderConfig:  # which has no positions side by side with words, and one start of their vectors
        given = {name: value for name, value in given.items() if name not in ("position_dim", "embedding_bound")}
    return head(config(**given)).eval()


def with_linear_part(name: str = "cnn") -> tuple[Any, WordTokenizer]:
    """A network beside a linear part of words and n-grams, with random numbers, as the default classifier has it."""
    tokenizer = build_word_tokenizer(WORDS, pre_tokenizer="english", **NGRAMS)
    model = build(name, tokenizer, wide_buckets=96, wide_char_buckets=32, deep_scale=0.5)
    ids, weight = torch.arange(1, tokenizer.num_ids), torch.randn(tokenizer.num_ids - 1, model.config.num_labels)
    numbers = {"inverse_document_frequency": 1 + torch.rand(len(ids)), "weight": weight, "bias": torch.randn(3)}
    model.init_wide_part(ids, **numbers)
    return model, tokenizer


def ids_of_words(tokenizer: WordTokenizer, words: list[str]) -> list[tuple[int, list[int]]]:
    """Every id of a text, with the numbers of the words that it is of, by the definition of n-grams."""
    first = len(tokenizer)
    found = [(WORDS.index(word) + 1, [number]) for number, word in enumerate(words) if word in WORDS]
    for number in range(len(words) - 1):
        pair = hash_ngram(" ".join(words[number : number + 2])) % NGRAMS["ngram_buckets"]
        found.append((first + pair, [number, number + 1]))
    for number, word in enumerate(words):
        for ngram in generate_character_ngrams(word, *NGRAMS["char_ngrams"]):
            bucket = hash_ngram(ngram) % NGRAMS["char_ngram_buckets"]
            found.append((first + NGRAMS["ngram_buckets"] + bucket, [number]))
    return found


def test_contributions_of_the_linear_part_are_those_of_its_equation() -> None:
    model, tokenizer = with_linear_part()
    found = explain_text(model, tokenizer, TEXT)
    words = ["the", "lamp", ",", "is", "not", "solid", "and", "wobly", "not", "good"]
    assert [word.lower() for word in found.words] == words
    assert found.is_known.tolist() == [word in WORDS for word in words]

    ids = ids_of_words(tokenizer, words)
    assert found.num_ngrams == len(ids) - found.is_known.sum()
    counts = Counter(index for index, _ in ids)
    wide = model.wide  # row i is of id i
    idf, weight = wide.inverse_document_frequency.double().numpy(), (wide.weight_scales[:, None] * wide.weight).numpy()
    entries = {index: (1 + np.log(count)) * idf[index] for index, count in counts.items()}
    boundary = tokenizer.num_ids - NGRAMS["char_ngram_buckets"]
    lengths = [np.sqrt(sum(v**2 for i, v in entries.items() if (i >= boundary) == of_chars)) for of_chars in (0, 1)]
    expected = np.zeros((3, len(words)))
    for index, numbers in ids:
        share = entries[index] / lengths[index >= boundary] / counts[index] / len(numbers)
        for number in numbers:
            expected[:, number] += share * weight[index]
    np.testing.assert_allclose(found.linear, expected, atol=1e-5)

    inputs = tokenizer(TEXT, return_tensors="pt")
    with torch.no_grad():
        logits = model.wide(inputs["input_ids"], inputs["attention_mask"].bool())[0].numpy()
    np.testing.assert_allclose(found.linear.sum(axis=1) + found.linear_bias, logits, atol=1e-5)
    assert np.abs(found.contributions - found.linear).max() > 1e-3  # the network has its part


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_bias_and_contributions_add_up_to_the_logits(name: str) -> None:
    tokenizer = build_word_tokenizer(WORDS)
    model = build(name, tokenizer)
    rows: list[int] = []
    hook = model.register_forward_hook(lambda _module, _inputs, output: rows.append(len(output.logits)))
    found = explain_text(model, tokenizer, TEXT)
    hook.remove()
    assert sum(rows) + (found.attention is not None) <= 200
    difference = found.logits - found.bias
    assert np.abs(difference).max() > 1e-3
    np.testing.assert_allclose(found.contributions.sum(axis=1), difference, atol=0.05 * np.abs(difference).max())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not model.get_input_embeddings()._forward_hooks


def test_contributions_of_a_mean_of_words_are_the_shares_of_its_sum() -> None:
    tokenizer = build_word_tokenizer(WORDS)
    model = build("mean", tokenizer)
    found = explain_text(model, tokenizer, TEXT)
    ids = tokenizer(TEXT)["input_ids"]
    with torch.no_grad():
        vectors = model.get_input_embeddings()(torch.tensor(ids))
        expected = (model.classifier.weight @ vectors.T / len(ids)).numpy()
    np.testing.assert_allclose(found.contributions, expected, atol=1e-6)
    np.testing.assert_allclose(found.bias, model.classifier.bias.detach().numpy(), atol=1e-6)
    assert found.linear.any() == found.linear_bias.any() == False  # noqa: E712  two arrays' worth of zeros


def test_the_sign_is_whether_a_word_speaks_for_the_label() -> None:
    tokenizer = build_word_tokenizer(WORDS)
    model = build("mean", tokenizer, num_labels=2, word_dim=1)
    with torch.no_grad():
        model.get_input_embeddings().weight.zero_()
        model.get_input_embeddings().weight[[6, 7], 0] = torch.tensor([1.0, -1.0])  # good, bad
        model.classifier.weight.copy_(torch.tensor([[-1.0], [2.0]]))
    model.config.id2label = {0: "negative", 1: "positive"}
    found = explain_text(model, tokenizer, "the lamp is good and bad")
    np.testing.assert_allclose(found.contributions_to("positive"), [0, 0, 0, 2 / 6, 0, -2 / 6], atol=1e-6)
    np.testing.assert_allclose(found.contributions_to("negative"), [0, 0, 0, -1 / 6, 0, 1 / 6], atol=1e-6)
    with pytest.raises(ValueError, match="label is 'fair'; expected one of 'negative', 'positive'"):
        found.contributions_to("fair")


@pytest.mark.parametrize("name", ["lama", "cnn", "contextualizer"])
def test_how_many_points_are_read_at_once_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = with_linear_part(name)
    expected = explain_text(model, tokenizer, TEXT)
    monkeypatch.setattr(contributions_file, "MOST_POSITIONS", 1)
    with torch.inference_mode():
        found = explain_text(model, tokenizer, TEXT)
    np.testing.assert_allclose(found.contributions, expected.contributions, atol=1e-6)
    np.testing.assert_allclose(found.bias, expected.bias, atol=1e-6)


def test_without_ngrams_unknown_words_change_nothing() -> None:
    tokenizer = build_word_tokenizer(WORDS)
    model = build("bigru", tokenizer)
    plain, longer = (explain_text(model, tokenizer, text) for text in ("lamp is good", "xq lamp is zz good qq " * 1))
    assert longer.words == plain.words == ["lamp", "is", "good"]
    np.testing.assert_array_equal(longer.contributions, plain.contributions)
    limited = build_word_tokenizer(WORDS, model_max_length=3)
    cut = explain_text(model, limited, "lamp is good and bad")
    np.testing.assert_array_equal(cut.contributions, plain.contributions)
    assert cut.num_cut_off == 2


@pytest.mark.parametrize("ngrams", [False, True])
def test_a_text_without_a_known_word_is_said_to_be_one_and_not_coloured(ngrams: bool) -> None:
    tokenizer = build_word_tokenizer(WORDS)
    model, tokenizer = with_linear_part() if ngrams else (build("lama", tokenizer), tokenizer)
    found = explain_text(model, tokenizer, "qwx zzq")
    assert found.no_known_word
    assert found.words == (["qwx", "zzq"] if ngrams else [])
    np.testing.assert_allclose(found.bias + found.contributions.sum(axis=1), found.logits, atol=1e-5)
    page = explanation_html([found])
    assert "The model knows no word of this text, so nothing is coloured" in page
    assert ("it answers from 15 n-grams" in page) == ngrams
    assert "<mark" not in page
    assert not explain_text(model, tokenizer, "qwx lamp").no_known_word
