"""Weights of models as the compiled trainer has them, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ctxzoo.models.configuration_word_embedding import WordEmbeddingConfig
from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.tasks.word_embeddings.kernel import NO_POSITION, Weights
from ctxzoo.tasks.word_embeddings.weights import check_weights_finite, extract_weights, load_weights, round_up_width

WORDS, SPECIAL, DIM, WINDOW = 5, 2, 3, 2
KINDS: dict[str, dict[str, Any]] = {
    "attention_cbow": {},
    "K only": {"position_logits": False},
    "s only": {"word_logits": False},
    "low rank": {"logit_rank": 2},
    **{name: {"architecture": name} for name in ("cbow", "positional_cbow", "skip_gram", "structured_skip_gram")},
    "cwindow": {"architecture": "cwindow"},
}


def drawn_model(seed: int, **fields: Any) -> WordEmbeddingForMaskedLM:
    sizes = {"vocab_size": WORDS + SPECIAL, "num_special_tokens": SPECIAL, "word_dim": DIM, "window": WINDOW}
    model = WordEmbeddingForMaskedLM(WordEmbeddingConfig(**{**sizes, **fields}))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_taken_from_a_model_and_put_into_another_is_the_same(kind: str) -> None:
    model, other = drawn_model(0, **KINDS[kind]), drawn_model(1, **KINDS[kind])
    special_rows = other.word_embedding.word_vectors.weight[:SPECIAL].clone()
    load_weights(other, extract_weights(model))
    for (name, mine), theirs in zip(model.named_parameters(), other.parameters(), strict=True):
        rows = mine.size(-2) if mine.dim() > 1 else 0
        # Tables of words keep their rows of special tokens, which nothing trains.
        begin = SPECIAL if rows == WORDS + SPECIAL else 0
        assert mine[..., begin:, :].equal(theirs[..., begin:, :]) if rows else mine.equal(theirs), name
    assert other.word_embedding.word_vectors.weight[:SPECIAL].equal(special_rows)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_copies(kind: str) -> None:
    model = drawn_model(0, **KINDS[kind])
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for values in extract_weights(model):
        values[...] = 7
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())


def test_the_layout() -> None:
    model = drawn_model(0)
    weights = extract_weights(model)
    width = round_up_width(DIM)
    assert weights.input.shape == weights.output.shape == (WORDS, width)
    assert weights.word_logits.shape == (WORDS, 2 * WINDOW + 1)
    assert weights.position_logits[WINDOW] == NO_POSITION
    assert not weights.word_logits[:, WINDOW].any()
    logits = model.word_embedding.word_position_logits.weight.detach().numpy()[SPECIAL:]
    assert np.array_equal(weights.word_logits[:, [0, 1, 3, 4]], logits)

    structured = drawn_model(0, architecture="structured_skip_gram")
    output = extract_weights(structured).output
    assert output.shape == (2 * WINDOW * WORDS, width)
    # The row of word 3 behind the centre's next place, which is column 2 of 4.
    assert np.array_equal(output[2 * WORDS + 3, :DIM], structured.output_vectors.detach().numpy()[2, SPECIAL + 3])

    concatenated = drawn_model(0, architecture="cwindow")
    output = extract_weights(concatenated).output
    assert output.shape == (WORDS, 2 * WINDOW * width)
    row = concatenated.output_vectors.detach().numpy()[SPECIAL + 3].reshape(2 * WINDOW, DIM)
    assert np.array_equal(output[3].reshape(2 * WINDOW, width)[:, :DIM], row)


@pytest.mark.parametrize(("dim", "width"), [(1, 16), (16, 16), (17, 32), (50, 64), (300, 304)])
def test_widths_are_multiples_of_sixteen(dim: int, width: int) -> None:
    assert round_up_width(dim) == width


@pytest.mark.parametrize("field", ["input", "output", "word_logits"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_found(field: str, value: float) -> None:
    weights: Weights = extract_weights(drawn_model(0))
    check_weights_finite(weights, "1 words", 0.1)
    getattr(weights, field)[1, 1] = value
    with pytest.raises(FloatingPointError, match=rf"{field} is not finite after 20,000 words, with .* rate 0\.25"):
        check_weights_finite(weights, "20,000 words", 0.25)
