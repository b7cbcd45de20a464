"""The recipe of the default settings and its controls, in a process of its own, on the generated sample."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.torch import load_file

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import recipe

NAME = "default_text_classifier"
QUICK = ("--datasets", "sample", "--tiny", "--progress", "false", "--tensorboard", "false", "--processes", "1")


@pytest.mark.slow
def test_the_parts_are_what_they_are_called(tmp_path: Path) -> None:
    run = recipe(tmp_path, *QUICK, name=NAME)
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert [(one.variant, one.fold) for one in results] == [
        (part, f) for part in ("both", "deep", "vectors", "wide") for f in (0, 1)
    ]
    folder = tmp_path / "runs" / NAME
    weights = {
        part: load_file(folder / f"{part}-sample-test-seed0-fold0" / "checkpoint" / "model.safetensors")
        for part in ("both", "wide", "deep")
    }
    assert not any(name.startswith("wide.") for name in weights["deep"])
    assert weights["both"]["wide.weight"].abs().max() > 0
    # The linear part of both is the same: fitted to the same rows, whatever the network learned.
    assert weights["both"]["wide.weight"].equal(weights["wide"]["wide.weight"])
    assert weights["wide"]["classifier.weight"].abs().max() == 0
    assert weights["both"]["classifier.weight"].abs().max() > 0


def test_an_unknown_part_stops_it_before_anything_is_read(tmp_path: Path) -> None:
    run = recipe_here(tmp_path, *QUICK, "--parts", "both", "linear", name=NAME)
    assert run.returncode == 1
    assert "error: parts='linear': expected one of vectors, both, wide, deep" in run.stderr
    assert not (tmp_path / RESULTS_DIR).exists()
