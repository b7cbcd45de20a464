"""The picture of attention: the right numbers are drawn, any text is safe, and bad input is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from ctxzoo.tasks.question_answering.figures import plot_similarity


def words(count: int) -> list[str]:
    return [f"w{index}" for index in range(count)]


def labels(figure: Figure) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_xticklabels()]


def test_similarity_shows_the_softmax_over_the_question(tmp_path: Path, drawn: list[Figure]) -> None:
    similarity = np.log(np.array([[1.0, 3.0], [8.0, 2.0], [5.0, 5.0]])) + np.array([[0.0], [100.0], [-100.0]])
    plot_similarity(similarity, ["a", "b", "c"], ["who", "?"], tmp_path / "s.png", highlight=(1, 2))
    axes = drawn[0].axes[0]
    np.testing.assert_allclose(axes.images[0].get_array(), [[0.25, 0.8, 0.5], [0.75, 0.2, 0.5]])
    assert labels(drawn[0]) == ["a", "b", "c"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["who", "?"]
    assert [label.get_fontweight() for label in axes.get_xticklabels()] == ["normal", "bold", "bold"]
    (box,) = axes.patches
    assert (box.get_x(), box.get_width(), box.get_height()) == (0.5, 2, 2)


@pytest.mark.parametrize(
    ("count", "highlight", "first", "stop"),
    [
        (40, None, 0, 40),
        (100, None, 0, 40),
        (100, (0, 0), 0, 40),
        (100, (50, 51), 31, 71),
        (100, (99, 99), 60, 100),
        (100, (30, 89), 30, 70),
    ],
)
def test_window(
    tmp_path: Path, drawn: list[Figure], count: int, highlight: tuple[int, int] | None, first: int, stop: int
) -> None:
    similarity = np.random.default_rng(0).normal(size=(count, 3))
    plot_similarity(similarity, words(count), words(3), tmp_path / "s.png", highlight=highlight)
    assert labels(drawn[0]) == words(count)[first:stop]
    bold = [label.get_text() for label in drawn[0].axes[0].get_xticklabels() if label.get_fontweight() == "bold"]
    expected = [] if highlight is None else words(count)[highlight[0] : min(highlight[1] + 1, stop)]
    assert bold == expected
    note = drawn[0].axes[0].get_xlabel()
    assert (f"context words {first + 1} to {stop} of {count}" in note) == (count > 40)


@pytest.mark.filterwarnings("ignore:Glyph")
def test_any_text_is_drawn_as_it_is(tmp_path: Path, drawn: list[Figure]) -> None:
    context = ["$x_1$", r"$\frac{$", "日本", "مرحبا", "e\u0301", "\n", "a\x00b", "", "x" * 50, "\ud800"]
    plot_similarity(np.eye(10)[:, :2], context, ["$", "\\"], tmp_path / "s.png", title="$5 or $\\bad{6$?")
    assert labels(drawn[0])[:5] == context[:5]
    assert labels(drawn[0])[5:] == ["␣", "a b", "␣", "x" * 17 + "…", "␣"]
    assert drawn[0].axes[0].get_title(loc="left") == "$5 or $\\bad{6$?"
    assert (tmp_path / "s.png").stat().st_size > 1000


def test_masked_question_words_get_no_colour(tmp_path: Path, drawn: list[Figure]) -> None:
    plot_similarity(np.array([[0.0, -np.inf]]), ["a"], ["b", "pad"], tmp_path / "s.png")
    assert drawn[0].axes[0].images[0].get_array().tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize(
    ("similarity", "changes", "message"),
    [
        (np.zeros((3, 2)), {}, r"shape \(3, 2\); expected .* = \(2, 2\)"),
        (np.zeros((2, 2, 1)), {}, "shape"),
        (np.zeros((0, 2)), {"context_words": []}, "at least 1"),
        (np.array([[0.0, np.nan], [0.0, 1.0]]), {}, "NaN"),
        (np.array([[-np.inf, -np.inf], [0.0, 1.0]]), {}, "without any question word"),
        (np.array([[0.25, 0.75], [0.5, 0.5]]), {}, "already a softmax"),
        (np.zeros((2, 2)), {"highlight": (1, 2)}, r"highlight \(1, 2\)"),
        (np.zeros((2, 2)), {"highlight": (1, 0)}, r"highlight \(1, 0\)"),
        (np.zeros((2, 2)), {"out": "picture.svg"}, r"end[s]* in \.png"),
    ],
)
def test_bad_input(tmp_path: Path, similarity: Any, changes: dict[str, Any], message: str) -> None:
    out = tmp_path / changes.pop("out", "s.png")
    arguments: dict[str, Any] = {"context_words": ["a", "b"], "question_words": ["c", "d"]} | changes
    with pytest.raises(ValueError, match=message):
        plot_similarity(similarity, out=out, **arguments)
    assert not out.exists()
