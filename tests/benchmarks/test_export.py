"""The benchmark of exported models: a form answers in the model's place, and the table leaves out what has no score."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from benchmarks.export import format_export_table, score_texts
from ctxzoo.models.tokenization_word import build_word_tokenizer
from ctxzoo.tasks import get_problem
from tests.support.tiny_checkpoints import WORDS, lama


@pytest.mark.parametrize("label", [0, 2])
def test_a_form_answers_in_the_place_of_the_model(label: int) -> None:
    model: Any = lama()
    forward, names = model.forward, list(model.config.id2label.values())

    def run(inputs: dict[str, torch.Tensor]) -> list[torch.Tensor]:
        return [torch.eye(3)[[label] * len(inputs["input_ids"])]]

    task = get_problem("text-classification").load_export()
    texts, labels = ["the lamp", "solid", "bad"], [names[0], names[2], names[2]]
    score = score_texts(model, build_word_tokenizer(WORDS), run, task, texts, labels)
    assert score == pytest.approx(100 / 3 if label == 0 else 200 / 3)
    assert model.forward == forward


def test_the_table_has_a_dash_where_nothing_was_scored() -> None:
    row = {"checkpoint": "a", "form": "onnx", "megabytes": "2.04", "score": "", "same_predictions": "0.987"}
    row |= {"ms_a_row_batch_1": "1.234", "ms_a_row_batch_32": "0.5"}
    assert "| a | onnx | 2.0 | – | 98.7 | 1.23 | 0.50 |" in format_export_table([row])
