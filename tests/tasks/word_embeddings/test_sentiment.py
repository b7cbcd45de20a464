"""Sentiment from mean vectors: what a sentence becomes, and by what C is chosen."""

from __future__ import annotations

from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from ctxzoo.tasks.text_classification.reader import TextSplits, check_texts, read_texts
from ctxzoo.tasks.word_embeddings import sentiment
from ctxzoo.tasks.word_embeddings.sentence_means import known_words
from ctxzoo.tasks.word_embeddings.sentiment import STRENGTHS, evaluate_sentiment
from ctxzoo.word_vectors.vectors import WordVectors
from tests.support.word_vector_files import small_vectors, write_test_sets


@pytest.fixture
def texts(tmp_path: Path) -> TextSplits:
    return read_texts(sentiment.DATASET, str(write_test_sets(tmp_path)))


def test_words_that_tell_are_found(texts: TextSplits) -> None:
    found = evaluate_sentiment(small_vectors(), texts)
    assert (found.accuracy, found.validation_accuracy, found.coverage) == (100, 100, 100)
    assert found.strength in STRENGTHS


def test_a_sentence_is_the_mean_of_its_known_words() -> None:
    vectors = WordVectors(["good", "film"], torch.tensor([[1.0, 0.0], [0.0, 4.0]]), "v", "00")
    split = datasets.Dataset.from_dict({"text": ["Good good FILM unheard", "unheard of", "film"], "label": [0, 1, 1]})
    words = known_words(vectors, split["text"][:])
    np.testing.assert_allclose(words.mean(vectors.vectors.numpy()), [[2 / 3, 4 / 3], [0, 0], [0, 4]])
    assert words.coverage == pytest.approx(100 * 4 / 7)


def test_validation_chooses_and_test_does_not() -> None:
    """Every strength fitted by hand; the first of the best on validation is the one reported."""
    generator = np.random.default_rng(0)
    words = [f"w{number}" for number in range(50)]
    vectors = small_vectors(words, dim=10, seed=1)
    splits = {}
    for split, count in (("train", 80), ("validation", 60), ("test", 60)):
        chosen = generator.choice(words, (count, 4)).tolist()
        noisy = [
            vectors.vectors[[vectors.index[word] for word in row]].mean(0)[0] + generator.normal() / 3 > 0
            for row in chosen
        ]
        splits[split] = datasets.Dataset.from_dict(
            {"text": [" ".join(row) for row in chosen], "label": list(map(int, noisy))}
        )
    texts = check_texts(splits)
    inputs = {
        split: known_words(vectors, rows["text"][:]).mean(vectors.vectors.numpy())
        for split, rows in texts.splits.items()
    }
    labels = {split: rows["label"][:] for split, rows in texts.splits.items()}
    fitted = [LogisticRegression(C=c, max_iter=10_000).fit(inputs["train"], labels["train"]) for c in STRENGTHS]
    scores = [model.score(inputs["validation"], labels["validation"]) for model in fitted]
    place = int(np.argmax(scores))
    found = evaluate_sentiment(vectors, texts)
    assert len(set(scores)) > 1
    assert (len(STRENGTHS), STRENGTHS[0], STRENGTHS[-1]) == (17, 2**-8, 2**8)
    assert (found.strength, found.validation_accuracy) == (STRENGTHS[place], pytest.approx(100 * scores[place]))
    assert found.accuracy == pytest.approx(100 * fitted[place].score(inputs["test"], labels["test"]))


def test_a_missing_split_is_named(texts: TextSplits) -> None:
    fewer = TextSplits({"train": texts.splits["train"], "test": texts.splits["test"]}, texts.label_names, {})
    with pytest.raises(ValueError, match=r"splits are \['test', 'train'\]; validation is missing"):
        evaluate_sentiment(small_vectors(), fewer)
