"""The recipe of what the gates learn, on the generated sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import TINY, recipe

OPTIONS = ("--dataset", "sample", "--samples", "5")


@pytest.mark.slow
def test_it_reads_what_the_recipe_of_music_has_trained(tmp_path: Path) -> None:
    cells = ("--cells", "bibeta5", "bibeta5_prior")
    assert recipe(tmp_path, *TINY, "--processes", "1", *cells, name="music_beta_lstm").returncode == 0
    run = recipe(tmp_path, *OPTIONS, name="music_gates")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "correlation of i and f" in run.stdout
    results = [one for one in read_results(tmp_path / RESULTS_DIR) if one.recipe == "music_gates"]
    assert [one.variant for one in results] == ["bibeta5", "bibeta5_prior"]
    assert "test/layer2/start/forget_gate" in results[0].metrics


def test_a_missing_checkpoint_is_told_in_one_line(tmp_path: Path) -> None:
    run = recipe_here(tmp_path, *OPTIONS, name="music_gates")
    assert run.returncode == 1
    assert run.stderr.startswith("error: no checkpoint in runs/music_beta_lstm/bibeta5-sample-test-seed0/checkpoint; ")
    assert run.stderr.strip().endswith("train it with recipes/music_beta_lstm.py")
    assert not (tmp_path / RESULTS_DIR).exists()
