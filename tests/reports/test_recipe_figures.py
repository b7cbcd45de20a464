"""Recipes that draw figures: names, and the files that each leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reports.recipe_figures import TableRows, check_figures, draw_figures


def first(settings: str, folder: Path) -> TableRows:
    (folder / "first.png").write_text("picture")
    return [["name", "value"], [settings, 1.5]]


def second(settings: str, folder: Path) -> TableRows:
    return [["a, b"]]


FIGURES = {"first": first, "second": second}


def test_each_figure_has_its_numbers_and_tells_how_it_was_made(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "figures"
    draw_figures(FIGURES, "told", only=["first"], folder=folder)
    assert sorted(file.name for file in folder.iterdir()) == ["figures.json", "first.csv", "first.png"]
    assert (folder / "first.csv").read_text() == "name,value\ntold,1.5\n"
    draw_figures(FIGURES, "told", only=["second"], folder=folder)
    made = json.loads((folder / "figures.json").read_text())
    assert set(made) == {"first", "second"}  # what was drawn before stays
    assert set(made["first"]) == {"command", "commit", "created", "hardware", "versions"}
    assert (folder / "second.csv").read_text() == '"a, b"\n'


def test_all_of_them_without_a_choice(tmp_path: Path) -> None:
    draw_figures(FIGURES, "told", only=[], folder=tmp_path)
    assert {file.stem for file in tmp_path.glob("*.csv")} == {"first", "second"}


def test_unknown_names() -> None:
    check_figures(["second"], FIGURES)
    with pytest.raises(ValueError, match="only: unknown 'third'; known: first, second"):
        check_figures(["first", "third"], FIGURES)
