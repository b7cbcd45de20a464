"""The recipe of the neural baselines, in a process of its own, on the generated sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import recipe

QUICK = ("--datasets", "sample", "--tiny", "--progress", "false", "--tensorboard", "false", "--processes", "1")


@pytest.mark.slow
def test_every_baseline_trains_and_keeps_its_own_rates(tmp_path: Path) -> None:
    run = recipe(tmp_path, *QUICK, "--embedding_bound", "0.1", name="sentence_text_baseline")
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert [(one.variant, one.fold) for one in results] == [
        (model, fold) for model in ("attention", "bigru", "cnn", "mean", "transformer") for fold in (0, 1)
    ]
    rates = {one.variant: (one.settings.get("dropout"), one.settings.get("pooled_dropout")) for one in results}
    assert rates["cnn"] == (None, 0.5)
    assert rates["transformer"] == (0.1, None)
    folder = tmp_path / "runs" / "sentence_text_baseline" / "attention-sample-test-seed0-fold1" / "checkpoint"
    config = json.loads((folder / "config.json").read_text())
    assert (config["encoder"], config["embedding_bound"], config["eval_context"]) == ("attention", 0.1, "redraw")
    assert (folder.parent / "token_weights.png").is_file()


def test_an_unknown_model_stops_it_before_anything_is_read(tmp_path: Path) -> None:
    run = recipe_here(tmp_path, *QUICK, "--models", "cnn", "lstm", name="sentence_text_baseline")
    assert run.returncode == 1
    assert "error: models='lstm': expected one of mean, attention, cnn, bigru, transformer" in run.stderr
    assert not (tmp_path / RESULTS_DIR).exists()
