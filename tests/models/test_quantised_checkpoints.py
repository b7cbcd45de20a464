"""Published checkpoints in int8: the accuracy of their cards."""

from __future__ import annotations

import os
from typing import Any

import pytest
from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification, AutoTokenizer

from ctxzoo.tasks import text_classification, token_classification
from tests.suite.checks_second_use import map_weights, quantised
from tests.support.subprocesses import REPOSITORY_ROOT

TEXTS, WORDS = (
    (AutoModelForSequenceClassification, text_classification),
    (AutoModelForTokenClassification, token_classification),
)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    ("card", "kind", "dataset", "options"),
    [
        ("contextualizer-mr", TEXTS, "cornell-movie-review-data/rotten_tomatoes", {"folds": 5, "fold": 0}),
        ("lama-reuters8", TEXTS, "ctxzoo-data/reuters8", {}),
        ("tagger-ewt", WORDS, "ctxzoo-data/ud_english_ewt", {"tag_column": "upos"}),
    ],
)
def test_accuracy_in_int8_is_within_half_a_point(card: str, kind: Any, dataset: str, options: dict[str, Any]) -> None:
    auto_class, task = kind
    folder = REPOSITORY_ROOT / "model_cards" / card
    model, tokenizer = auto_class.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    options |= {"data_dir": os.environ["CTXZOO_DATA"], "tokenizer": tokenizer, "progress": False, "accelerator": "cpu"}
    small = quantised(model)
    assert map_weights(small) == 0
    scores = [task.evaluate(each, dataset, "test", **options)["accuracy"] for each in (model, small)]
    assert scores[1] == pytest.approx(scores[0], abs=0.5)
