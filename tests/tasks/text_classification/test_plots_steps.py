"""Pictures of models that read in steps or with heads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from ctxzoo.tasks.text_classification.plots_steps import plot_token_weights


def test_weights_stand_under_their_words(tmp_path: Path, drawn: list[Figure]) -> None:
    weights = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])
    plot_token_weights(weights, ["a", "$x_", "film"], tmp_path / "w.png", title="label: good")
    axes = drawn[0].axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), weights)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "$x_", "film"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "2"]
    assert [text.get_text() for text in axes.texts] == ["10", "20", "70", "50", "25", "25"]


@pytest.mark.parametrize(("shape", "words"), [((2, 3), 2), ((3,), 3), ((2, 0), 0)])
def test_weights_that_do_not_fit(tmp_path: Path, shape: tuple[int, ...], words: int) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        plot_token_weights(np.zeros(shape), ["a"] * words, tmp_path / "w.png")
