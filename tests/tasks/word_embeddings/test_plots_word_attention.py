"""Pictures of attention CBOW."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from ctxzoo.tasks.word_embeddings.plots_word_attention import plot_position_curves, plot_word_attention
from ctxzoo.tasks.word_embeddings.word_attention import PositionCurve, WordAttention

WORDS = ["the", "$old_", "mill"]
ATTENTION = WordAttention(
    WORDS,
    np.array([[0.0, 1.0, 0.0], [0.3, 0.0, 0.7], [0.0, 1.0, 0.0]]),
    np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool),
)


def test_each_centre_has_a_row_with_a_frame_in_its_place(tmp_path: Path, drawn: list[Figure]) -> None:
    plot_word_attention(ATTENTION, [2, 1], tmp_path / "w.png", title="a title")
    axes = drawn[0].axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["mill", "$old_"]
    assert [label.get_text() for label in axes.get_xticklabels()] == WORDS
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
        plot_word_attention(ATTENTION, centres, tmp_path / "w.png")
    assert not (tmp_path / "w.png").exists()


def test_curves_of_several_models(tmp_path: Path, drawn: list[Figure]) -> None:
    curves = {
        "b2": PositionCurve([-2, -1, 1, 2], np.array([-1.0, 0.5, 1.5, -1.0]), np.array([0.05, 0.25, 0.65, 0.05])),
        "b1": PositionCurve([-1, 1], np.array([-1.0, 1.0]), np.array([0.1, 0.9])),
    }
    plot_position_curves(curves, tmp_path / "p.png")
    shares, logits = drawn[0].axes
    # Nothing is at position 0.
    np.testing.assert_array_equal(shares.lines[0].get_xdata(), [-2, -1, np.nan, 1, 2])
    np.testing.assert_allclose(shares.lines[0].get_ydata(), [5, 25, np.nan, 65, 5])
    np.testing.assert_allclose(logits.lines[1].get_ydata(), [-1, np.nan, 1])
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == ["b2", "b1"]
    assert all(float(tick).is_integer() for tick in logits.get_xticks())


def test_no_curve_to_draw(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_position_curves({}, tmp_path / "p.png")
