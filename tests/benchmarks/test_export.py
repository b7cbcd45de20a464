"""The benchmark of exported models: a form answers in the model's place, and the table leaves out what has no score."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.export import format_export_table, replace_outputs, run_every_position
from ctxzoo.models.configuration_hcrnn import HcrnnConfig
from ctxzoo.models.modeling_hcrnn import HcrnnForNextItem
from ctxzoo.tasks import get_problem
from tests.support.tiny_checkpoints import lama


def test_a_form_answers_in_the_place_of_the_model() -> None:
    model: Any = lama()
    forward = model.forward
    ids = torch.tensor([[2, 3], [3, 4]])
    of_model = model(input_ids=ids, labels=torch.tensor([0, 1]))

    def run(inputs: dict[str, torch.Tensor]) -> list[torch.Tensor]:
        assert set(inputs) == {"input_ids"}
        return [2 * model(**inputs).logits]

    with replace_outputs(model, run, get_problem("text-classification").load_export()):
        for _ in range(2):
            of_form = model(input_ids=ids, labels=torch.tensor([0, 1]))
    torch.testing.assert_close(of_form.logits, 2 * of_model.logits)
    torch.testing.assert_close(of_form.loss, of_model.loss)
    torch.testing.assert_close(model(input_ids=ids).logits, of_model.logits)
    assert model.forward == forward


def test_a_form_that_scores_the_next_item_scores_those_behind_every_position() -> None:
    torch.manual_seed(0)
    model: Any = HcrnnForNextItem(HcrnnConfig(num_items=6, hidden_size=8, embedding_size=8)).eval()
    ids = torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0]])
    inputs = {"input_ids": ids, "attention_mask": (ids > 0).long()}
    with torch.no_grad():
        of_model = model(**inputs, every_position=True).logits
        of_form = run_every_position(lambda one: [model(**one).logits], inputs)
    known = ids > 0
    torch.testing.assert_close(of_form[known], of_model[known])


def test_the_table_has_a_dash_where_nothing_was_scored() -> None:
    row = {"checkpoint": "a", "form": "onnx", "megabytes": "2.04", "score": "", "same_predictions": "0.987"}
    row |= {"ms_a_row_batch_1": "1.234", "ms_a_row_batch_32": "0.5"}
    assert "| a | onnx | 2.0 | – | 98.7 | 1.23 | 0.50 |" in format_export_table([row])
