"""The gates of a Beta-LSTM at the words of a text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.modeling_beta_lstm import BetaLstmForSequenceClassification
from ctxzoo.models.modeling_text_baseline import TextBaselineForSequenceClassification
from ctxzoo.models.tokenization_word import WordTokenizer, build_word_tokenizer
from ctxzoo.tasks.text_classification.pictures import draw_word_gates, word_gates

TEXT = "the plot is $thin$ but not strange thin"


@pytest.fixture(scope="module")
def tokenizer() -> WordTokenizer:
    return build_word_tokenizer(["the", "plot", "is", "$thin$", "but", "not", "thin"])


def model(tokenizer: WordTokenizer, **options) -> BetaLstmForSequenceClassification:
    torch.manual_seed(0)
    sizes = {"vocab_size": len(tokenizer), "word_dim": 6, "hidden_size": 5, "num_layers": 2}
    return BetaLstmForSequenceClassification(BetaLstmConfig(**{"cell": "bibeta5", **sizes, **options})).train()


def test_every_known_word_has_its_gates(tokenizer: WordTokenizer) -> None:
    one = model(tokenizer)
    gates = word_gates(one, tokenizer, TEXT, layer=1)
    assert gates.words == ["the", "plot", "is", "$thin$", "but", "not", "thin"]  # "strange" is not known
    assert one.training
    with torch.no_grad():
        found = one.eval()(**tokenizer(TEXT, return_tensors="pt"), output_hidden_states=False)
        encoded = one.base_model(**tokenizer(TEXT, return_tensors="pt"), output_gate_statistics=True)
    assert found.logits.shape == (1, 2)
    expected = encoded.gate_statistics[1]
    np.testing.assert_allclose(gates.input_gate, expected.input_gate[0].numpy(), rtol=1e-6)
    np.testing.assert_allclose(gates.forget_gate, expected.forget_gate[0].numpy(), rtol=1e-6)
    np.testing.assert_allclose(gates.correlation, expected.correlation[0].numpy(), rtol=1e-6)


def test_the_layer_that_reads_from_the_end(tokenizer: WordTokenizer) -> None:
    one = model(tokenizer, bidirectional=True)
    forth, back = (word_gates(one, tokenizer, TEXT, reverse=reverse) for reverse in (False, True))
    shorter = "is $thin$ but not thin"
    # What was read before a word is, from the end, what follows it.
    np.testing.assert_allclose(word_gates(one, tokenizer, shorter, reverse=True).input_gate, back.input_gate[2:])
    assert not np.allclose(word_gates(one, tokenizer, shorter).input_gate, forth.input_gate[2:])


def test_what_has_no_such_gates(tokenizer: WordTokenizer) -> None:
    with pytest.raises(ValueError, match="there is no layer 2; there are layer 0, layer 1"):
        word_gates(model(tokenizer), tokenizer, TEXT, layer=2)
    with pytest.raises(ValueError, match="there is no layer 0, reverse; there are layer 0"):
        word_gates(model(tokenizer), tokenizer, TEXT, reverse=True)
    with pytest.raises(ValueError, match="knows no word of 'strange'"):
        word_gates(model(tokenizer), tokenizer, "strange")
    other = TextBaselineForSequenceClassification(TextBaselineConfig(vocab_size=len(tokenizer), word_dim=6))
    with pytest.raises(
        ValueError, match="a TextBaselineForSequenceClassification has no gates to show; expected a Beta"
    ):
        word_gates(other, tokenizer, TEXT)


@pytest.mark.parametrize(("cell", "panels"), [("bibeta5", 2), ("lstm", 1), ("kumaraswamy", 2)])
def test_the_picture(cell: str, panels: int, tokenizer: WordTokenizer, tmp_path: Path, drawn: list[Figure]) -> None:
    gates = word_gates(model(tokenizer, cell=cell), tokenizer, TEXT)
    draw_word_gates(gates, tmp_path / "g.png", title="$a$ sentence")
    axes = drawn[0].axes
    assert len(axes) == panels
    assert [label.get_text() for label in axes[-1].get_xticklabels()] == gates.words
    write, keep = (line.get_ydata() for line in axes[0].lines)
    np.testing.assert_allclose(write, gates.input_gate.mean(axis=1))
    np.testing.assert_allclose(keep, gates.forget_gate.mean(axis=1))
    if gates.correlation is not None:
        np.testing.assert_allclose(axes[1].lines[0].get_ydata(), gates.correlation.mean(axis=1))
    assert (tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")
