"""The curves of BiDAF over training, from results files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.results.result import write_result_file
from reports.bidaf_figures import Settings, curves
from tests.support.recipe_here import recipe_here
from tests.support.result_tables import make_run

PLACE: dict[str, Any] = {"epochs": 8, "optimizer": "adadelta", "word_vectors": "wiki2015_cbow.100d"}


def test_means_over_seeds_by_model_and_epoch(tmp_path: Path) -> None:
    runs = [("baseline", 1, 0.122474, 50.0), ("baseline", 2, 0.122474, 54.0), ("baseline", 3, 0.172774, 99.0)]
    for number, (variant, seed, start, score) in enumerate(runs):
        metrics = {f"validation/epoch{e}/{n}": score + e for e in range(1, 9) for n in ("exact", "f1", "nll")}
        run = make_run(variant, seed, metrics=metrics, settings={**PLACE, "product_start": start})
        write_result_file(run, tmp_path / "results" / f"{number}.json")
    made = recipe_here(tmp_path, "--results", "results", name="bidaf_figures")
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "runs" / "bidaf_figures"
    with (folder / "curves.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[1] == ["baseline", "2", "1", "53.0", "53.0", "53.0"]
    assert len(rows) == 9
    assert (folder / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_nothing_to_draw_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds none of recipes/squad_bidaf\.py"):
        curves(Settings(results=str(tmp_path)), tmp_path)
