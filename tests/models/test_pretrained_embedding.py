"""Tables that start from given vectors: int8 that stays, differences that are trained, in each classifier of texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError

from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.layers_text_input import PretrainedEmbedding
from tests.models.test_layers_wide import HEADS, IDS, MASK, SIZES, WIDE

FIELDS: dict[str, Any] = {**SIZES, **WIDE, "trained_words": 8}


def build(name: str) -> Any:
    head, config, own = HEADS[name]
    torch.manual_seed(0)
    model = head(config(**FIELDS, **own))
    table = model.get_input_embeddings()
    vectors = torch.randint(-127, 128, (20, 6), dtype=torch.int8)
    table.init_from_vectors(vectors, 0.01 * torch.rand(6), 0.1 * torch.randn(8, 6), torch.rand(20))
    numbers = {"inverse_document_frequency": 1 + torch.rand(9), "weight": torch.randn(9, 3), "bias": torch.randn(3)}
    ids = torch.tensor([1, 3, 7, 12, 20, 21, 25, 27, 29])
    model.init_wide_part(ids, **numbers, vector_weight=torch.randn(6, 3))
    return model.eval()


def test_rows_are_the_given_vectors_and_what_was_trained() -> None:
    table = PretrainedEmbedding(5, 2, trained_rows=3)
    differences = torch.tensor([[9.0, 9.0], [1.0, 2.0], [0.0, 0.0]])
    vectors = torch.tensor([[0, 0], [1, 2], [3, 4], [5, 6], [7, 8]], dtype=torch.int8)
    table.init_from_vectors(vectors, torch.tensor([0.5, 2.0]), differences, torch.ones(5))
    found = table(torch.tensor([[0, 1, 2, 4]]))[0]
    assert found.tolist() == [[0, 0], [1.5, 6.0], [1.5, 8.0], [3.5, 16.0]]  # padding is 0, and has no difference
    found.sum().backward()
    assert table.weight.grad is not None
    assert table.weight.grad.tolist() == [[0, 0], [1, 1], [1, 1]]
    with pytest.raises(ValueError, match=r"vectors of shape \(4, 2\); expected \(5, 2\)"):
        table.init_from_vectors(vectors[:4], torch.ones(2), differences, torch.ones(5))


@pytest.mark.parametrize("name", HEADS)
def test_a_saved_model_gives_the_same_scores(name: str, tmp_path: Path) -> None:
    model = build(name)
    found = model(IDS, attention_mask=MASK).logits
    model.save_pretrained(tmp_path)
    again = type(model).from_pretrained(tmp_path).eval()
    torch.testing.assert_close(again(IDS, attention_mask=MASK).logits, found, rtol=0, atol=0)
    assert again.config.wide_ids == 9
    assert again.get_input_embeddings().vectors.dtype == again.wide.weight.dtype == torch.int8


@pytest.mark.parametrize("name", HEADS)
def test_words_are_read_alike_with_and_without_their_ngrams(name: str) -> None:
    model = build(name)
    short, whole = (model(IDS, attention_mask=MASK, output_hidden_states=asked).logits for asked in (False, True))
    torch.testing.assert_close(short, whole)


def test_scores_in_half_precision_are_those_of_float32() -> None:
    model = build("text_baseline")
    expected = model(IDS, attention_mask=MASK).logits
    for dtype in (torch.bfloat16, torch.float16):
        found = build("text_baseline").to(dtype)(IDS, attention_mask=MASK).logits
        torch.testing.assert_close(found.float(), expected, rtol=0.05, atol=0.05)


def test_float_weights_of_every_id_are_trained() -> None:
    head, config, own = HEADS["text_baseline"]
    model = head(config(**SIZES, **WIDE, **own))
    assert model.config.wide_ids is None
    model(IDS, attention_mask=MASK, labels=torch.tensor([0, 1, 2])).loss.backward()
    assert model.wide.weight.grad.abs().max() > 0
    with pytest.raises(ValueError, match="keeps a float weight for each id; make it with num_rows"):
        model.wide.init_from_linear_classifier(torch.arange(2), torch.ones(2), torch.ones(2, 3), torch.ones(3))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"trained_words": 21}, r"from 1 \(padding\) to the 20 words, got 21"),
        ({"wide_ids": 31}, "from 0 to vocab_size = 30, got 31"),
    ],
)
def test_sizes_that_cannot_be_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(StrictDataclassError, match=message):
        TextBaselineConfig(**{**FIELDS, **fields})
