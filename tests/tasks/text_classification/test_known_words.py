"""Texts of which a classifier knows no word: counted, and flagged in its answers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ctxzoo.models.configuration_text_baseline import TextBaselineConfig
from ctxzoo.models.modeling_text_baseline import TextBaselineForSequenceClassification
from ctxzoo.models.tokenization_word import WordTokenizer, build_word_tokenizer
from ctxzoo.tasks.text_classification.known_words import (
    count_known_words,
    describe_texts_without_known_words,
)
from ctxzoo.tasks.text_classification.pipeline import KnownWordsPipeline
from ctxzoo.tasks.text_classification.prediction import classify_texts

WORDS = ["the", "lamp", "is", "solid"]
NGRAMS: dict[str, Any] = {
    "ngram_order": 2,
    "char_ngrams": (2, 3),
    "ngram_buckets": 16,
    "char_ngram_buckets": 8,
}
TEXTS = ["qwx zzq", "The LAMP wobbles is", "", "lamp " * 5]


def classifier(tokenizer: WordTokenizer, **options: Any) -> KnownWordsPipeline:
    torch.manual_seed(0)
    config = TextBaselineConfig(vocab_size=tokenizer.num_ids, word_dim=6, encoder="mean", num_labels=3)
    return KnownWordsPipeline(model=TextBaselineForSequenceClassification(config), tokenizer=tokenizer, **options)


@pytest.mark.parametrize("options", [{}, NGRAMS, {"model_max_length": 2}], ids=["words", "n-grams", "limit"])
def test_known_words_are_counted_and_their_lack_is_flagged_in_every_answer(options: dict[str, Any]) -> None:
    tokenizer = build_word_tokenizer(WORDS, **options)
    assert count_known_words(tokenizer, TEXTS) == [0, 3, 0, 5]
    assert count_known_words(tokenizer, []) == []
    for batch_size in (1, 4):
        pipe = classifier(tokenizer, batch_size=batch_size, device="cpu")
        answers = pipe(TEXTS, truncation="model_max_length" in options)
        assert [one.get("no_known_word") for one in answers] == [True, None, True, None]
        every = pipe(TEXTS, top_k=None)
        assert [[label.get("no_known_word") for label in one] for one in every] == [
            [flag] * 3 for flag in (True, None, True, None)
        ]
        assert sum(label["score"] for label in every[0]) == pytest.approx(1)


def test_no_more_words_are_read_than_in_training() -> None:
    tokenizer = build_word_tokenizer(WORDS, model_max_length=2)
    pipe = classifier(tokenizer, device="cpu")
    long, short = "lamp is the solid the", "lamp is"
    assert pipe(long) == pipe(short) == pipe(long, truncation=True)
    assert pipe(long, truncation=False) != pipe(short)
    (told,) = classify_texts(pipe.model, tokenizer, [long])
    assert told["score"] == pytest.approx(pipe(long)[0]["score"])
    whole = classifier(build_word_tokenizer(WORDS), device="cpu")
    assert whole(long) == whole(long, truncation=False)


def test_the_note_says_which_texts() -> None:
    assert describe_texts_without_known_words(0, 2) is None
    told = describe_texts_without_known_words(1, 1)
    assert told == "the model knows no word of 1 of 1 text; do not rely on their labels"
    assert "(row 8; rows are" in str(describe_texts_without_known_words(1, 9, [8]))
    told = describe_texts_without_known_words(6, 7, [0, 2, 4, 5, 6])
    assert told is not None
    assert "6 of 7 texts (row 0, 2, 4, 5, 6, …; rows are counted from 0)" in told
