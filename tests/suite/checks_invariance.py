"""Neither padding, nor the other rows of a batch, nor the width of integers change outputs or gradients (float64)."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch

from tests.suite.marks import needs_loss, needs_sequences
from tests.suite.subjects import LENGTHS, Subject, assert_same_outputs, crop, gradients, named_tensors, probe
from tests.support.model_cases import lengthen, row_alone, scramble_padding

TIGHT = {"rtol": 1e-9, "atol": 1e-11}
EVERYTHING = {"output_attentions": True, "output_hidden_states": True}


def _assert_same_gradients(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    for name, x in expected.items():
        torch.testing.assert_close(found[name], x, **TIGHT, msg=lambda text, name=name: f"gradient of {name}: {text}")


def _of_rows(output: Any) -> dict[str, torch.Tensor]:
    """Without scalars: these are means over the rows, as the loss is, which has a check of its own."""
    return {name: x for name, x in named_tensors(output).items() if x.dim()}


def _model(subject: Subject) -> Any:
    return subject.model(dtype=torch.float64)


class InvarianceChecks:
    @needs_sequences
    @pytest.mark.parametrize("padding", ["zeros", "anything"])
    def test_longer_padding_changes_nothing(self, subject: Subject, padding: str) -> None:
        model, batch = _model(subject), subject.batch(dtype=torch.float64, labels=True)
        generator = torch.Generator().manual_seed(5) if padding == "anything" else None
        longer = lengthen(batch, subject.case.sequences, 3, generator)
        whole, padded = model(**batch, **EVERYTHING), model(**longer, **EVERYTHING)
        expected = named_tensors(whole)
        found = {name: crop(x, expected[name]) for name, x in named_tensors(padded).items()}
        assert all(x.dtype == torch.float64 for x in expected.values())
        assert_same_outputs(found, expected, **TIGHT)
        ours, theirs = (gradients(probe(tensors), model, keep_graph=True) for tensors in (found, expected))
        _assert_same_gradients(ours, theirs)
        if subject.has_loss:
            _assert_same_gradients(gradients(padded.loss, model), gradients(whole.loss, model))

    @needs_sequences
    def test_what_is_no_number_at_padding_changes_nothing(self, subject: Subject) -> None:
        model, batch = _model(subject), subject.batch(dtype=torch.float64, labels=True)
        takes_vectors = "inputs_embeds" in inspect.signature(model.forward).parameters
        config = subject.config()
        with_ngrams = getattr(config, "ngram_buckets", 0) or getattr(config, "wide_buckets", 0)
        with_encoder = "subword_ids" in batch
        if takes_vectors and not (with_ngrams or with_encoder):  # n-grams are told by their ids
            batch["inputs_embeds"] = model.get_input_embeddings()(batch.pop("input_ids")).detach()
            batch["inputs_embeds"].requires_grad_()
        spoilt = dict(batch)
        for mask, names in {**subject.case.sequences, "attention_mask": ("inputs_embeds", "word_features")}.items():
            for name in names:
                if name in batch and batch[name].is_floating_point():
                    spoilt[name] = batch[name].masked_fill(batch[mask].unsqueeze(-1) == 0, float("nan"))
        if all(spoilt[name] is x for name, x in batch.items()):
            pytest.skip("reads ids alone")
        whole, found = model(**batch, **EVERYTHING), model(**spoilt, **EVERYTHING)
        assert_same_outputs(named_tensors(found), named_tensors(whole), rtol=0, atol=0)
        _assert_same_gradients(
            gradients(probe(named_tensors(found)), model), gradients(probe(named_tensors(whole)), model)
        )

    def test_integers_may_be_narrow(self, subject: Subject) -> None:
        model, batch = _model(subject), subject.batch(dtype=torch.float64, labels=True)
        narrow = {name: x if x.is_floating_point() else x.int() for name, x in batch.items()}
        found, expected = named_tensors(model(**narrow, **EVERYTHING)), named_tensors(model(**batch, **EVERYTHING))
        assert_same_outputs(found, expected, rtol=0, atol=0)

    def test_other_rows_change_nothing(self, subject: Subject) -> None:
        model, batch = _model(subject), subject.batch(dtype=torch.float64)
        batch = scramble_padding(batch, subject.case.sequences, torch.Generator().manual_seed(6))
        together = _of_rows(model(**batch, **EVERYTHING))
        for row in range(len(LENGTHS)):
            alone = _of_rows(model(**row_alone(batch, subject.case.sequences, row), **EVERYTHING))
            of_row = {name: crop(x[row : row + 1], alone[name]) for name, x in together.items()}
            assert_same_outputs(of_row, alone, **TIGHT)
            _assert_same_gradients(
                gradients(probe(of_row, together), model, keep_graph=True), gradients(probe(alone, together), model)
            )

    @needs_loss
    def test_loss_of_a_batch_is_the_mean_of_its_rows(self, subject: Subject) -> None:
        if not subject.case.loss_is_mean_over_rows:
            pytest.skip("the loss weighs rows by their lengths")
        model, batch = _model(subject), subject.batch(dtype=torch.float64, labels=True)
        rows = [model(**row_alone(batch, subject.case.sequences, row)).loss for row in range(len(LENGTHS))]
        torch.testing.assert_close(model(**batch).loss, torch.stack(rows).mean(), **TIGHT)

    @needs_sequences
    def test_no_mask_means_no_padding(self, subject: Subject) -> None:
        model, batch = _model(subject), subject.batch(dtype=torch.float64)
        alone = row_alone(batch, subject.case.sequences, 0)
        without = {name: x for name, x in alone.items() if name not in subject.case.sequences}
        assert without.keys() != alone.keys()
        assert_same_outputs(named_tensors(model(**without)), named_tensors(model(**alone)), rtol=0, atol=0)
