"""The picture of accuracy by length, from results files."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from ctxzoo.results.result import write_result_file
from reports.long_context_figures import Settings, draw_lengths
from tests.support.recipe_here import recipe_here
from tests.support.result_tables import make_run


def test_means_over_seeds_by_attention_probe_and_length(tmp_path: Path) -> None:
    for number, (variant, tag, seed, accuracy) in enumerate(
        [
            ("dot", "copy-n64", 0, 99.0),
            ("dot", "recall-n64", 0, 88.0),
            ("dot", "recall-n64", 1, 90.0),
            ("elu", "recall-n256", 0, 12.0),
            ("dot", "recall-n32", 0, 1.0),
        ]
    ):
        run = replace(
            make_run(variant, seed),
            recipe="long_context_esa",
            tag=tag,
            metrics={"test/accuracy": accuracy},
        )
        write_result_file(run, tmp_path / "results" / f"{number}.json")
    made = recipe_here(tmp_path, "--results", "results", name="long_context_figures")
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "runs" / "long_context_figures"
    with (folder / "lengths.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file))[1:] == [
            ["dot", "copy", "64", "99.0"],
            ["dot", "recall", "64", "89.0"],
            ["elu", "recall", "256", "12.0"],
        ]
    assert (folder / "lengths.png").read_bytes()[:4] == b"\x89PNG"


def test_nothing_to_draw_and_an_unknown_figure_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds none of recipes/long_context_esa\.py"):
        draw_lengths(Settings(results=str(tmp_path)), tmp_path)
    with pytest.raises(ValueError, match="unknown 'times'; known: lengths"):
        Settings(only=["times"])
