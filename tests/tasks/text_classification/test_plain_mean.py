"""The control of the Contextualizer's attention: W stays 0, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import ctxzoo  # noqa: F401  registers the architecture
from ctxzoo.results.result import read_result
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION
from recipes import sentence_contextualizer

NAIVE_BAYES = {"ngram_order": 2, "ngram_buckets": 50, "naive_bayes": 2.0, "position_dim": 0}


def run_in(folder: Path, *, plain_mean: bool = False, **changes: Any) -> ExperimentRun:
    usual = {"epochs": 1, "tensorboard": False, "dropout": 0.3, "learning_rate": 0.01, "folds": 2, "fold": 0}
    places = {"output_dir": str(folder / "runs"), "results_dir": str(folder / "results")}
    tiny = TEXT_CLASSIFICATION.make_tiny(sentence_contextualizer.BASE)
    one = tiny.copy_with(**usual, **places, **changes, commit="0123abc")
    return ExperimentRun(TEXT_CLASSIFICATION, one.copy_with(zeroed=(sentence_contextualizer.W,)) if plain_mean else one)


def trained(run: ExperimentRun) -> dict[str, torch.Tensor]:
    execute(run)
    weights: dict[str, torch.Tensor] = AutoModelForSequenceClassification.from_pretrained(run.checkpoint).state_dict()
    return weights


@pytest.mark.parametrize(
    "start", [pytest.param({}, marks=pytest.mark.slow), NAIVE_BAYES], ids=["random", "naive Bayes"]
)
def test_w_stays_0_and_the_rest_is_trained(tmp_path: Path, start: dict[str, Any]) -> None:
    run = run_in(tmp_path, plain_mean=True, **start)
    data = run.build_data()
    data.setup()
    weights = trained(run)
    assert not weights[sentence_contextualizer.W].any()
    torch.manual_seed(0)
    before = run.build_task(data, 1).model.state_dict()
    for name in ("classifier.weight", "contextualizer.embeddings.words.weight"):
        assert not torch.equal(weights[name], before[name]), name
    told = read_result(run.results_file)
    assert told.settings["zeroed"] == [sentence_contextualizer.W]
    assert told.parameters["total"] - told.parameters["trainable"] == weights[sentence_contextualizer.W].numel()
    # Without the control W leaves 0, where it starts with naive Bayes.
    assert trained(run_in(tmp_path / "with attention", **start))[sentence_contextualizer.W].any()


def test_the_context_of_every_step_is_the_mean_of_the_words(tmp_path: Path) -> None:
    run = run_in(tmp_path, plain_mean=True)
    execute(run)
    model = AutoModelForSequenceClassification.from_pretrained(run.checkpoint).double()
    inputs = AutoTokenizer.from_pretrained(run.checkpoint)(
        ["the screen is good", "the battery of this phone is not good and the screen is"],
        padding=True,
        return_tensors="pt",
    )
    assert inputs["attention_mask"].sum(dim=1).min() > 1
    reader = model.contextualizer
    with torch.no_grad():
        states = reader(**inputs, output_hidden_states=True)
        x, mask = reader.embeddings(inputs["input_ids"], inputs["attention_mask"], None)
        mean = x.sum(dim=1) / mask.sum(dim=1, keepdim=True)  # x is 0 outside the mask
        torch.testing.assert_close(model(**inputs).logits, model.classifier(mean))
    for step in range(states.context_history.size(1)):
        torch.testing.assert_close(states.context_history[:, step], mean)


def test_other_runs_differ_in_it_alone(tmp_path: Path) -> None:
    assert run_in(tmp_path).settings["zeroed"] == []
    assert run_in(tmp_path, plain_mean=True).settings == {
        **run_in(tmp_path).settings,
        "zeroed": [sentence_contextualizer.W],
    }
