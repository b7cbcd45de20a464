"""The recipe of the cells on sentences: their sizes, and runs on the generated sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from transformers import AutoConfig, AutoModelForSequenceClassification

from ctxzoo.results.result import RESULTS_DIR, read_results
from recipes.sentence_beta_lstm import BASE, KNOWN, count_weights, find_matching_num_units, set_cell
from tests.support.own_trainings import config_of
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import recipe

COMPARED = ("lstm", "coupled", "g2", "beta", "bibeta5")
NAME = "sentence_beta_lstm"
QUICK = ("--datasets", "sample", "--tiny", "--progress", "false", "--tensorboard", "false", "--processes", "1")
# By hand: an lstm of 100 units has 4 * 100 * (270 + 100 + 1) = 148,400 weights.
UNITS = {"lstm": 100, "g2": 100, "noisin": 100, "coupled": 125, "beta": 72, "kumaraswamy": 72, "bibeta3": 84}


@pytest.mark.parametrize(("cell", "units"), [*UNITS.items(), ("bibeta5", 63)])
def test_cells_have_as_many_weights_as_an_lstm_of_100_units(cell: str, units: int) -> None:
    config = config_of(set_cell(BASE, cell))
    assert config["hidden_size"] == units
    model = AutoModelForSequenceClassification.from_config(
        AutoConfig.for_model("ctxzoo_beta_lstm", **config, vocab_size=50)
    )
    weights = sum(one.numel() for one in model.encoder.rnn.parameters())
    assert weights == count_weights(cell, units, input_size=270, num_layers=1)
    assert weights == pytest.approx(148_400, rel=0.01)


@pytest.mark.parametrize("cell", KNOWN)
def test_the_nearest_size_is_taken_with_more_layers_too(cell: str) -> None:
    sizes = {"input_size": 40, "num_layers": 3}
    wanted = count_weights("lstm", 30, **sizes)
    units = find_matching_num_units(cell, 30, **sizes)
    off = {other: abs(count_weights(cell, other, **sizes) - wanted) for other in range(1, 60)}
    assert off[units] == min(off.values())


def test_two_layers_and_directions_have_the_weights_that_are_counted() -> None:
    sizes = {"word_dim": 12, "position_dim": 4, "hidden_size": 8}
    config = config_of(set_cell(BASE.copy_with(num_layers=2, bidirectional=True, **sizes), "bibeta5"))
    model = AutoModelForSequenceClassification.from_config(
        AutoConfig.for_model("ctxzoo_beta_lstm", **config, vocab_size=50)
    )
    counted = count_weights("bibeta5", config["hidden_size"], input_size=16, num_layers=2)
    assert sum(one.numel() for one in model.encoder.rnn.parameters()) == 2 * counted


@pytest.mark.slow
def test_the_compared_cells_train_and_resume_keeps_them(tmp_path: Path) -> None:
    run = recipe(tmp_path, *QUICK, "--locked_dropout", "0.2", name=NAME)
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert [(one.variant, one.fold) for one in results] == [
        (cell, fold) for cell in sorted(COMPARED) for fold in (0, 1)
    ]
    assert {one.settings["hidden_size"] for one in results if one.variant == "lstm"} == {8}
    assert {one.settings["locked_dropout"] for one in results} == {0.2}
    folder = tmp_path / "runs" / NAME / "bibeta5-sample-test-seed0-fold1" / "checkpoint"
    config = json.loads((folder / "config.json").read_text())
    assert (config["cell"], config["locked_dropout"], config["word_dim"]) == ("bibeta5", 0.2, 8)
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / RESULTS_DIR).rglob("*.json")}
    again = recipe(tmp_path, *QUICK, "--locked_dropout", "0.2", "--resume", name=NAME)
    assert again.returncode == 0, again.stderr
    assert {file: file.stat().st_mtime_ns for file in files} == files


def test_an_unknown_cell_stops_it_before_anything_is_read(tmp_path: Path) -> None:
    run = recipe_here(tmp_path, *QUICK, "--cells", "lstm", "gru", name=NAME)
    assert run.returncode == 1
    assert "error: cells='gru': expected one of lstm, coupled, g2, noisin, beta, bibeta3, bibeta5" in run.stderr
    assert not (tmp_path / RESULTS_DIR).exists()
