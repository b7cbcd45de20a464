"""Perplexity of text against a loop in float64 over its words."""

from __future__ import annotations

import math

import pytest

from ctxzoo.models.modeling_word_embedding import WordEmbeddingForMaskedLM
from ctxzoo.tasks.word_embeddings import word_prediction
from ctxzoo.tasks.word_embeddings.word_prediction import word_prediction_scores
from tests.support.reference_word_embedding import reference_loss
from tests.support.tiny_word_embedding import tiny_model, tiny_tokenizer

LINES = ["the mill stands", "in 1710", "town", "", "nothing known", "the town in the mill ."]


def loss_of(model: WordEmbeddingForMaskedLM, words: str) -> list[float]:
    ids = tiny_tokenizer()(words)["input_ids"]
    return [reference_loss(model, ids, place, word) for place, word in enumerate(ids)]


def test_every_word_counts_once() -> None:
    model = tiny_model()
    losses = [loss for line in (LINES[0], LINES[1], LINES[5]) for loss in loss_of(model, line)]
    assert len(losses) == 3 + 2 + 6
    found = word_prediction_scores(model, tiny_tokenizer(), LINES, words=100)
    assert found["nll"] == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    assert found["perplexity"] == pytest.approx(math.exp(found["nll"]))


def test_it_ends_with_the_line_that_reaches_the_wanted_words() -> None:
    model, taken = tiny_model(), []

    def lines() -> object:
        for line in LINES:
            taken.append(line)
            yield line

    found = word_prediction_scores(model, tiny_tokenizer(), lines(), words=4)
    assert taken == LINES[:2]
    losses = [loss for line in taken for loss in loss_of(model, line)]
    assert found["nll"] == pytest.approx(sum(losses) / 5, rel=1e-5)


def test_long_lines_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_prediction, "PIECE_WORDS", 4)
    model = tiny_model()
    found = word_prediction_scores(model, tiny_tokenizer(), [LINES[5]], words=100)
    losses = loss_of(model, "the town in the")
    assert found["nll"] == pytest.approx(sum(losses) / 4, rel=1e-5)


def test_text_without_two_known_words_in_a_line_is_named() -> None:
    with pytest.raises(ValueError, match="no line of the test text has two known words; give other text"):
        word_prediction_scores(tiny_model(), tiny_tokenizer(), LINES[2:5], words=100)
