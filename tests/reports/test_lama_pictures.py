"""Lines and boxes of LAMA's figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from ctxzoo.results.plots import COLOURS
from reports.lama_figures import plot_distributions, plot_lines


def test_lines_are_drawn_in_the_order_of_their_numbers(tmp_path: Path, drawn: list[Figure]) -> None:
    lines = {"LAMA": {10: 5.0, 1: 500.0}, "SAN": {1: 20.0}}
    plot_lines(lines, tmp_path / "l.png", axis="heads", title="parameters")
    axes = drawn[0].axes[0]
    assert axes.lines[0].get_xydata().tolist() == [[1.0, 500.0], [10.0, 5.0]]
    assert (axes.get_yscale(), axes.get_xlabel()) == ("log", "heads")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["LAMA", "SAN"]
    plot_lines({"LAMA": {1: 3.0, 4: 2.0}}, tmp_path / "l.png", axis="heads", title="parameters")
    assert all(float(place).is_integer() for place in drawn[1].axes[0].get_xticks())


def test_every_group_has_its_box(tmp_path: Path, drawn: list[Figure]) -> None:
    rows = {"good": {"1 star": [1.0, 3.0, 2.0], "5 stars": []}, "bad": {"1 star": [4.0], "5 stars": [0.5, 1.5]}}
    plot_distributions(rows, tmp_path / "d.png", axis="stars", title="weights")
    panels = drawn[0].axes
    assert [panel.get_title() for panel in panels] == ["good", "bad"]
    assert [label.get_text() for label in panels[0].get_xticklabels()] == ["1 star", "5 stars"]
    medians = [line for line in panels[1].lines if line.get_color() == COLOURS[1]]
    assert [float(line.get_ydata()[0]) for line in medians] == [4.0, 1.0]


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_lines({"a": {}}, tmp_path / "k.png", axis="m", title="t")
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_distributions({}, tmp_path / "k.png", axis="m", title="t")
