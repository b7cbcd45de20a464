"""The recipe of attention on sentences: equal numbers of weights, and runs on the generated sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from transformers import AutoConfig, AutoModelForSequenceClassification

from ctxzoo.results.result import RESULTS_DIR, read_results
from recipes.sentence_context_encoder import (
    BASE,
    COMPARED,
    KNOWN,
    count_weights,
    find_matching_inner_size,
    set_attention,
)
from tests.support.own_trainings import config_of
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import recipe

NAME = "sentence_context_encoder"
QUICK = ("--datasets", "sample", "--tiny", "--progress", "false", "--tensorboard", "false", "--processes", "1")
# By hand: four maps of 128 * 128 + 128, two norms of 256, and 256 * 128 * 2 + 256 + 128 of the network.
OF_DOT = 4 * 128 * 129 + 2 * 256 + 2 * 256 * 128 + 256 + 128


@pytest.mark.parametrize("attention", COMPARED)
def test_blocks_have_as_many_weights_as_those_of_dot_products(attention: str) -> None:
    config = config_of(set_attention(BASE, attention))
    model_type = f"ctxzoo_{KNOWN[attention][0]}"
    model = AutoModelForSequenceClassification.from_config(AutoConfig.for_model(model_type, **config, vocab_size=50))
    weights = sum(one.numel() for one in model.encoder.blocks.parameters())
    assert weights == pytest.approx(OF_DOT, rel=0.002)
    assert model.config.model_type == model_type
    assert getattr(model.config, "attention", attention) == attention
    shared = {name: config[name] for name in ("hidden_size", "num_heads", "num_layers", "word_dim")}
    widths = [config["inner_size"] + step for step in (-1, 0, 1)]
    off = [abs(count_weights(attention, width, shared) - OF_DOT) for width in widths]
    assert off[1] == min(off)


def test_the_reference_keeps_its_width() -> None:
    shared = {"hidden_size": 8, "num_heads": 2, "num_layers": 3, "word_dim": 8}
    assert [find_matching_inner_size("dot", width, shared) for width in (1, 7, 30)] == [1, 7, 30]


@pytest.mark.slow
def test_the_compared_attentions_train_and_resume_keeps_them(tmp_path: Path) -> None:
    run = recipe(tmp_path, *QUICK, "--hidden_dropout", "0.2", name=NAME)
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert [(one.variant, one.fold) for one in results] == [
        (attention, fold) for attention in sorted(COMPARED) for fold in (0, 1)
    ]
    assert {one.settings["inner_size"] for one in results if one.variant == "dot"} == {8}
    assert {one.settings["hidden_dropout"] for one in results} == {0.2}
    folder = tmp_path / "runs" / NAME / "mikan-sample-test-seed0-fold1" / "checkpoint"
    config = json.loads((folder / "config.json").read_text())
    assert (config["attention"], config["hidden_dropout"], config["word_dim"]) == ("mikan", 0.2, 8)
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / RESULTS_DIR).rglob("*.json")}
    again = recipe(tmp_path, *QUICK, "--hidden_dropout", "0.2", "--resume", name=NAME)
    assert again.returncode == 0, again.stderr
    assert {file: file.stat().st_mtime_ns for file in files} == files


def test_an_unknown_attention_stops_it_before_anything_is_read(tmp_path: Path) -> None:
    run = recipe_here(tmp_path, *QUICK, "--attentions", "dot", "flash", name=NAME)
    assert run.returncode == 1
    assert "error: attentions='flash': expected one of dot, ika, ikan, mikan" in run.stderr
    assert not (tmp_path / RESULTS_DIR).exists()
