"""What attention CBOW looks at, against the equations."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.tasks.word_embeddings.pictures import (
    PositionCurve,
    WordAttention,
    draw_position_curves,
    draw_word_attention,
    position_curve,
    word_attention,
)
from tests.support.tiny_word_embedding import WORDS, tiny_model, tiny_tokenizer

TEXT = "The unknown mill stands in the town ."
KNOWN = ["the", "mill", "stands", "in", "the", "town", "."]
WINDOW = 2


def expected_weights() -> np.ndarray:
    """Equation (3) by loops: the softmax of K[w_u, u - t] + s[u - t] over the words of the window."""
    base = tiny_model().word_embedding
    special = base.config.num_special_tokens
    logits, positions = base.word_position_logits.weight.tolist(), base.position_logits.tolist()
    weights = np.zeros((len(KNOWN), len(KNOWN)))
    for centre in range(len(KNOWN)):
        for place, word in enumerate(KNOWN):
            offset = place - centre
            if offset and abs(offset) <= WINDOW:
                column = offset + WINDOW if offset < 0 else offset + WINDOW - 1
                weights[centre, place] = math.exp(logits[special + WORDS.index(word)][column] + positions[column])
        weights[centre] /= weights[centre].sum()
    return weights


def test_weights_of_a_sentence_are_those_of_equation_3() -> None:
    found = word_attention(tiny_model(), tiny_tokenizer(), TEXT)
    assert found.words == KNOWN  # the unknown word leaves no gap
    np.testing.assert_allclose(found.weights, expected_weights(), rtol=1e-5)
    np.testing.assert_array_equal(found.is_context, expected_weights() > 0)
    # The base model and the head are alike.
    np.testing.assert_array_equal(
        word_attention(tiny_model().word_embedding, tiny_tokenizer(), TEXT).weights, found.weights
    )


def test_a_masked_word_looks_around_and_is_not_looked_at() -> None:
    found = word_attention(tiny_model(), tiny_tokenizer(), "the [MASK] stands")
    assert found.words == ["the", "[MASK]", "stands"]
    assert not found.is_context[:, 1].any()
    assert found.weights[1].sum() == pytest.approx(1)


def test_a_window_that_is_longer_than_the_sentence() -> None:
    found = word_attention(tiny_model(), tiny_tokenizer(), "the mill")
    np.testing.assert_allclose(found.weights, [[0, 1], [1, 0]])


def test_models_without_attention_have_even_shares() -> None:
    config = WordEmbeddingConfig(vocab_size=len(WORDS) + 2, word_dim=4, window=1, architecture="cbow")
    found = word_attention(WordEmbeddingForMaskedLM(config).eval(), tiny_tokenizer(), "the mill stands")
    np.testing.assert_allclose(found.weights, [[0, 1, 0], [0.5, 0, 0.5], [0, 1, 0]])


@pytest.mark.parametrize("text", ["", "nobody knows", "the unknown"])
def test_too_few_known_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"knows [01] words of .*; expected at least 2"):
        word_attention(tiny_model(), tiny_tokenizer(), text)


def test_places_of_words() -> None:
    found = word_attention(tiny_model(), tiny_tokenizer(), TEXT)
    assert found.find_positions(["town", "the"]) == [5, 0, 4]
    with pytest.raises(ValueError, match=r"'barn', 'shed' not among the words 'the mill stands in the town \.'"):
        found.find_positions(["mill", "barn", "shed"])


def test_the_curve_of_positions() -> None:
    model = tiny_model()
    curve = position_curve(model)
    assert curve.positions == [-2, -1, 1, 2]
    np.testing.assert_allclose(curve.logits, model.word_embedding.position_logits.tolist())
    exponentials = [math.exp(value) for value in curve.logits]
    np.testing.assert_allclose(curve.weights, [value / sum(exponentials) for value in exponentials])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"architecture": "cbow"}, "architecture='cbow'"),
        ({"position_logits": False}, "architecture='attention_cbow' with position_logits=False"),
    ],
)
def test_a_model_without_s_has_no_curve(fields: dict[str, object], message: str) -> None:
    model = WordEmbeddingForMaskedLM(WordEmbeddingConfig(vocab_size=9, word_dim=4, window=2, **fields))
    with pytest.raises(ValueError, match=message):
        position_curve(model)


def test_a_low_rank_table_is_read_too() -> None:
    torch.manual_seed(0)
    config = WordEmbeddingConfig(vocab_size=len(WORDS) + 2, word_dim=4, window=1, logit_rank=1)
    model = WordEmbeddingForMaskedLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    base = model.word_embedding
    found = word_attention(model, tiny_tokenizer(), "the mill stands")
    logits = (base.word_factors.weight @ base.position_factors + base.position_logits).tolist()
    before, after = logits[2 + WORDS.index("the")][0], logits[2 + WORDS.index("stands")][1]
    assert found.weights[1, 0] == pytest.approx(1 / (1 + math.exp(after - before)), rel=1e-5)


DRAWN_WORDS = ["the", "$old_", "mill"]
ATTENTION = WordAttention(
    DRAWN_WORDS,
    np.array([[0.0, 1.0, 0.0], [0.3, 0.0, 0.7], [0.0, 1.0, 0.0]]),
    np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool),
)


def test_each_centre_has_a_row_with_a_frame_in_its_place(tmp_path: Path, drawn: list[Figure]) -> None:
    draw_word_attention(ATTENTION, [2, 1], tmp_path / "w.png", title="a title")
    axes = drawn[0].axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["mill", "$old_"]
    assert [label.get_text() for label in axes.get_xticklabels()] == DRAWN_WORDS
    cells = np.ma.filled(axes.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(cells, [[np.nan, 1.0, np.nan], [0.3, np.nan, 0.7]])
    assert [(text.get_position(), text.get_text()) for text in axes.texts] == [
        ((1, 0), "100"),
        ((0, 1), "30"),
        ((2, 1), "70"),
    ]
    frames = [line.get_xydata() for line in axes.lines]
    boxes = [(*frame.min(axis=0), *frame.max(axis=0)) for frame in frames]
    np.testing.assert_allclose(boxes, [(1.54, -0.46, 2.46, 0.46), (0.54, 0.54, 1.46, 1.46)])
    assert (tmp_path / "w.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("centres", [[], [3], [-1]])
def test_centres_that_are_no_places(tmp_path: Path, centres: list[int]) -> None:
    with pytest.raises(ValueError, match="expected one or more positions from 0 to 2"):
        draw_word_attention(ATTENTION, centres, tmp_path / "w.png")
    assert not (tmp_path / "w.png").exists()


def test_curves_of_several_models(tmp_path: Path, drawn: list[Figure]) -> None:
    curves = {
        "b2": PositionCurve([-2, -1, 1, 2], np.array([-1.0, 0.5, 1.5, -1.0]), np.array([0.05, 0.25, 0.65, 0.05])),
        "b1": PositionCurve([-1, 1], np.array([-1.0, 1.0]), np.array([0.1, 0.9])),
    }
    draw_position_curves(curves, tmp_path / "p.png")
    shares, logits = drawn[0].axes
    # Nothing is at position 0.
    np.testing.assert_array_equal(shares.lines[0].get_xdata(), [-2, -1, np.nan, 1, 2])
    np.testing.assert_allclose(shares.lines[0].get_ydata(), [5, 25, np.nan, 65, 5])
    np.testing.assert_allclose(logits.lines[1].get_ydata(), [-1, np.nan, 1])
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == ["b2", "b1"]
    assert all(float(tick).is_integer() for tick in logits.get_xticks())


def test_no_curve_to_draw(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_position_curves({}, tmp_path / "p.png")
