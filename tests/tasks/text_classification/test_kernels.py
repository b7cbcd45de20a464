"""Similarity and importance of the words of a text, the densities of learned kernels, and their pictures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from ctxzoo.models.configuration_kernel_encoder import KernelEncoderConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.modeling_kernel_encoder import KernelEncoderForSequenceClassification
from ctxzoo.models.modeling_text_baseline import TextBaselineForSequenceClassification
from ctxzoo.models.tokenization_word import WordTokenizer, build_word_tokenizer
from ctxzoo.tasks.text_classification.pictures import (
    draw_kernel_density,
    draw_word_kernels,
    kernel_density,
    word_kernels,
)

TEXT = "the plot is $thin$ but not strange thin"
WORDS = ["the", "plot", "is", "$thin$", "but", "not", "thin"]  # "strange" is not known


@pytest.fixture(scope="module")
def tokenizer() -> WordTokenizer:
    return build_word_tokenizer(WORDS)


def model(tokenizer: WordTokenizer, **options: Any) -> KernelEncoderForSequenceClassification:
    torch.manual_seed(0)
    sizes = {"vocab_size": len(tokenizer), "word_dim": 8, "hidden_size": 8, "num_heads": 2, "num_layers": 2}
    config = KernelEncoderConfig(**{"attention": "mikan", "num_features": 6, **sizes, **options})
    one = KernelEncoderForSequenceClassification(config)
    with torch.no_grad():
        for parameter in one.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape))
    return one.train()


@pytest.mark.parametrize("attention", ["dot", "rbf", "ikan", "mikan"])
def test_both_together_are_the_weights(attention: str, tokenizer: WordTokenizer) -> None:
    one = model(tokenizer, attention=attention, p_norm=1.8)
    found = word_kernels(one, tokenizer, TEXT, layer=1)
    assert found.words == WORDS
    assert one.training
    assert (found.similarity > 0).all()
    assert (found.similarity <= 1 + 2e-5).all()
    assert (found.importance.min(axis=1) == 0).all()
    weights = found.similarity * np.exp(found.importance)[:, None, :]
    np.testing.assert_allclose(found.weights, weights / weights.sum(axis=-1, keepdims=True), rtol=1e-4)
    with torch.no_grad():
        expected = one.eval().base_model(**tokenizer(TEXT, return_tensors="pt"), output_attentions=True)
    np.testing.assert_allclose(found.weights, expected.attentions[1][0].numpy(), rtol=1e-6)


def test_the_density_of_a_drawn_kernel_is_that_of_the_text(tokenizer: WordTokenizer) -> None:
    one = model(tokenizer)
    density = kernel_density(one, tokenizer, TEXT)
    assert density.frequencies.shape == (2, 12, 4)
    assert density.start_deviation == pytest.approx(1 / math.sqrt(8 * math.pi**2 * 2))
    assert not np.allclose(density.frequencies, kernel_density(one, tokenizer, "the plot").frequencies)
    assert one.training


def test_the_density_of_a_direct_kernel_is_its_parameters(tokenizer: WordTokenizer) -> None:
    one = model(tokenizer, attention="ikan", kernel="direct")
    density = kernel_density(one, tokenizer, TEXT, layer=1)
    kernel = one.base_model.blocks[1].attention.attention.kernel
    np.testing.assert_allclose(density.frequencies[:, :6], kernel.first.detach().numpy())
    np.testing.assert_allclose(density.frequencies[:, 6:], kernel.second.detach().numpy())


def test_what_has_no_such_parts(tokenizer: WordTokenizer) -> None:
    with pytest.raises(ValueError, match="there is no layer 2; there are 0 to 1"):
        word_kernels(model(tokenizer), tokenizer, TEXT, layer=2)
    with pytest.raises(ValueError, match="knows no word of 'strange'"):
        word_kernels(model(tokenizer), tokenizer, "strange")
    for options in ({"attention": "rbf"}, {"causal": True}):
        with pytest.raises(ValueError, match="there is no learned density of the text"):
            kernel_density(model(tokenizer, **options), tokenizer, TEXT)
    other = TextBaselineForSequenceClassification(TextBaselineConfig(vocab_size=len(tokenizer), word_dim=6))
    with pytest.raises(ValueError, match="a TextBaselineForSequenceClassification has no kernels to show"):
        word_kernels(other, tokenizer, TEXT)


def test_the_pictures(tokenizer: WordTokenizer, tmp_path: Path, drawn: list[Figure]) -> None:
    one = model(tokenizer)
    kernels = word_kernels(one, tokenizer, TEXT)
    draw_word_kernels(kernels, tmp_path / "k.png", title="$a$ sentence")
    similarity, importance, weights = drawn[0].axes
    assert [label.get_text() for label in similarity.get_xticklabels()] == WORDS
    np.testing.assert_allclose(similarity.images[0].get_array(), kernels.similarity.mean(axis=0))
    np.testing.assert_allclose([bar.get_width() for bar in importance.patches], kernels.importance.mean(axis=0))
    np.testing.assert_allclose(weights.images[0].get_array(), kernels.weights.mean(axis=0))
    draw_kernel_density(kernel_density(one, tokenizer, TEXT), tmp_path / "d.png", title="a density")
    assert [text.get_text() for text in drawn[1].axes[0].get_legend().get_texts()] == [
        "head 1",
        "head 2",
        "dot products",
    ]
    for name in ("k", "d"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
