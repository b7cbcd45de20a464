"""Pictures of numbers against numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from ctxzoo.results.plots import plot_scores_by


def test_means_and_deviations_are_drawn(tmp_path: Path, drawn: list[Figure]) -> None:
    rows = {"recurrent": {20: [72.0, 74.0], 1: [60.0, 56.0], 5: [71.0, 71.0]}, "regular": {5: [70.0]}}
    plot_scores_by(rows, tmp_path / "k.png", axis="K", runs="folds")
    axes = drawn[0].axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "5", "20"]
    first, second = (container.lines[0] for container in axes.containers)
    np.testing.assert_allclose(first.get_ydata(orig=False), [58.0, 71.0, 73.0])
    np.testing.assert_allclose(np.round(first.get_xdata(orig=False)), [0, 1, 2])
    np.testing.assert_allclose(second.get_ydata(orig=False), [70.0])
    low, high = axes.containers[0].lines[2][0].get_segments()[0][:, 1]
    assert high - low == pytest.approx(2 * 8**0.5)  # one sample deviation to both sides
    assert (tmp_path / "k.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("rows", [{}, {"a": {1: []}}])
def test_nothing_to_draw(tmp_path: Path, rows: dict[str, dict[int, list[float]]]) -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_scores_by(rows, tmp_path / "k.png", axis="K", runs="folds")
