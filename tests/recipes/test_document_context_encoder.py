"""The recipe of attention on whole documents, in a process of its own, on the generated sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from ctxzoo.tasks.text_classification.experiments import set_word2vec_size
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION
from recipes.document_context_encoder import BASE, LONGEST, set_attention
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import TINY, recipe

COMPARED = ("dot", "favor", "learned", "elu")
NAME = "document_context_encoder"


@pytest.mark.parametrize(
    "attentions",
    [("dot", "learned"), pytest.param(COMPARED, marks=pytest.mark.slow)],
    ids=["two", "all"],
)
def test_every_attention_trains_and_is_told_apart(tmp_path: Path, attentions: tuple[str, ...]) -> None:
    chosen = () if attentions == COMPARED else ("--attentions", *attentions)
    run = recipe(tmp_path, *TINY, *chosen, "--no_word2vec", "--processes", "1", "--name", "try", name=NAME)
    assert run.returncode == 0, run.stdout + run.stderr
    results = {one.variant: one for one in read_results(tmp_path / RESULTS_DIR)}
    assert sorted(results) == sorted(attentions)
    for name, one in results.items():
        assert (one.tag, one.settings["optimizer"]) == ("try", "adamw")
        assert one.architecture == ("kernel_encoder" if name == "dot" else "linear_encoder")
        assert one.settings.get("feature_map") == (None if name == "dot" else name)
    folder = tmp_path / "runs" / NAME / "learned-sample-test-seed0-try" / "checkpoint"
    config = json.loads((folder / "config.json").read_text())
    assert (config["feature_map"], config["dropout"]) == ("learned", 0.3)


def test_given_vectors_take_the_place_of_word2vec() -> None:
    for attention in ("dot", "elu"):
        one = set_attention(set_word2vec_size(BASE.copy_with(word_vectors="model_cards/v")), attention)
        TEXT_CLASSIFICATION.check(one)
        assert (one.start.values()["word2vec_dim"], one.model.values()["freeze_embeddings"]) == (0, None)


def test_no_word_is_cut_off_and_unknown_names_are_refused(tmp_path: Path) -> None:
    assert BASE.data.values()["max_length"] == LONGEST
    assert set_attention(BASE.copy_with(hidden_size=32), "elu").model.get_config_changes()["hidden_size"] == 32
    run = recipe_here(tmp_path, "--attentions", "dot", "softmax", name=NAME)
    assert "attentions='softmax': expected one of dot, favor, hyperbolic, elu, relu, learned, trig" in run.stderr
