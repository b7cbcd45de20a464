"""A classifier's checkpoint folder opens in three ways, two of them without ctxzoo; its frozen vectors come back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from ctxzoo.hub.card import build_card
from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder, write_checkpoint_folder
from ctxzoo.hub.eval_results import build_eval_results_files
from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.models.modeling_contextualizer import ContextualizerForSequenceClassification
from ctxzoo.models.tokenization_word import build_word_tokenizer
from ctxzoo.tasks.text_classification.card import CARD as TEXT_CLASSIFICATION
from ctxzoo.training.classification import label_fields
from tests.support.doors import told_offline
from tests.support.tiny_checkpoint import tiny_result

TEXTS = ["A good film , not a bad one", "unheard-of", "bad bad film"]

MODEL = """
import json, sys, torch
{first}
from transformers import AutoModelForSequenceClassification, AutoTokenizer
options = {options}
tokenizer = AutoTokenizer.from_pretrained({source!r}, **options)
model = AutoModelForSequenceClassification.from_pretrained({source!r}, **options)
with torch.no_grad():
    logits = model(**tokenizer({texts!r}, padding=True, return_tensors="pt")).logits
print(json.dumps({{"module": type(model).__module__, "result": logits.tolist(), "ctxzoo": "ctxzoo" in sys.modules}}))
"""
PIPELINE = """
import json, sys
from transformers import pipeline
classify = pipeline("text-classification", model={source!r}, trust_remote_code=True)
result = classify({texts!r}, batch_size=2)
print(json.dumps({{"module": type(classify.model).__module__, "result": result, "ctxzoo": "ctxzoo" in sys.modules}}))
"""


def tiny_classifier() -> ContextualizerForSequenceClassification:
    torch.manual_seed(3)
    config = ContextualizerConfig(
        vocab_size=7, word_dim=6, position_dim=4, rank=5, **label_fields(["negative", "positive"])
    )
    model = ContextualizerForSequenceClassification(config).eval()
    with torch.no_grad():
        for parameter in (*model.contextualizer.steps.parameters(), *model.classifier.parameters()):
            parameter.mul_(3)
    return model


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model, tokenizer = tiny_classifier(), build_word_tokenizer(["good", "bad", "film", "a", "not", "one"])
    result = replace(tiny_result(), architecture="contextualizer", variant="recurrent", metrics={"test/accuracy": 71.0})
    example = {"text": TEXTS[0], "label": "positive", "score": 0.7}
    card = build_card(result, model.config, task=TEXT_CLASSIFICATION, example=example)
    folder = tmp_path_factory.mktemp("classifier") / "contextualizer-tiny"
    return write_checkpoint_folder(
        folder,
        model=model,
        tokenizer=tokenizer,
        card=card,
        eval_results=build_eval_results_files(result, TEXT_CLASSIFICATION),
    )


def open_with(program: str, source: Path, first: str = "", options: str = "") -> Any:
    text = program.format(first=first, options=options, source=str(source), texts=TEXTS)
    return told_offline(text, without_ctxzoo=not first)


def scores_of(logits: list[list[float]], tokenizer: Any) -> list[float]:
    """What the pipeline makes of what the model gives for TEXTS: the probability of each text's label."""
    return torch.tensor(logits).softmax(dim=-1).amax(dim=-1).tolist()


def test_the_folder_is_whole_and_small(classifier: Path) -> None:
    check_checkpoint_folder(classifier)
    # U, V, W, the classifier and the start, in float32: no table of word vectors.
    assert (classifier / "model.safetensors").stat().st_size < 4 * (3 * 5 * 10 + 22 + 10) + 1500


@pytest.mark.slow
def test_it_opens_in_three_ways(classifier: Path, tmp_path: Path) -> None:
    model = tiny_classifier()
    tokenizer = build_word_tokenizer(["good", "bad", "film", "a", "not", "one"])
    with torch.no_grad():
        logits = model(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits
    package = open_with(MODEL, classifier, "import ctxzoo", "{}")
    remote = open_with(MODEL, classifier, options='{"trust_remote_code": True}')
    pipeline = open_with(PIPELINE, classifier)
    assert package["module"] == "ctxzoo.models.modeling_contextualizer"
    torch.testing.assert_close(torch.tensor(package["result"]), logits)
    assert remote["result"] == package["result"]
    assert torch.equal(torch.tensor(package["result"])[1], model.classifier.bias)  # no known word
    probabilities, labels = logits.softmax(dim=-1).max(dim=-1)
    assert [one["label"] for one in pipeline["result"]] == [("negative", "positive")[label] for label in labels]
    assert [one["score"] for one in pipeline["result"]] == pytest.approx(probabilities.tolist(), abs=1e-5)
    for door in (remote, pipeline):
        assert door["ctxzoo"] is False
        assert door["module"].startswith("transformers_modules.")
