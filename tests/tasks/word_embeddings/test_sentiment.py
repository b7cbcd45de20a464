"""Sentiment from mean vectors: what a sentence becomes, and by what C is chosen."""

from __future__ import annotations

from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from ctxzoo.tasks.text_classification.reader import TextSplits, check_texts, read_texts
from ctxzoo.tasks.word_embeddings import sentiment
from ctxzoo.tasks.word_embeddings.sentiment import (
    STRENGTHS,
    compute_frequency_weights,
    evaluate_mean_vector_sentiment,
    evaluate_sentiment,
    look_up_known_words,
)
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
    words = look_up_known_words(vectors, split["text"][:])
    np.testing.assert_allclose(words.average_rows(vectors.vectors.numpy()), [[2 / 3, 4 / 3], [0, 0], [0, 4]])
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
        split: look_up_known_words(vectors, rows["text"][:]).average_rows(vectors.vectors.numpy())
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


WORDS = [f"w{number}" for number in range(50)]


def splits_of(**texts: list[tuple[str, int]]) -> TextSplits:
    return check_texts(
        {
            split: datasets.Dataset.from_dict({"text": [text for text, _ in rows], "label": [one for _, one in rows]})
            for split, rows in texts.items()
        }
    )


def noisy_texts() -> TextSplits:
    """Sentences of four words whose label the first column of their vectors tells, not always."""
    generator = np.random.default_rng(0)
    vectors = small_vectors(WORDS, dim=10, seed=1)

    def rows(count: int) -> list[tuple[str, int]]:
        chosen = generator.choice(WORDS, (count, 4), p=np.arange(50, 0, -1) / np.arange(51).sum()).tolist()
        sums = [vectors.vectors[[vectors.index[word] for word in row]].mean(0)[0] for row in chosen]
        return [(" ".join(row), int(one + generator.normal() / 3 > 0)) for row, one in zip(chosen, sums, strict=True)]

    return splits_of(train=rows(120), validation=rows(60), test=rows(60))


def test_weights_fall_with_the_share_of_the_training_text() -> None:
    vectors = WordVectors(["the", "film", "good"], torch.eye(3), "v", "00")
    words = look_up_known_words(vectors, ["the film", "the the unheard"])
    weights = compute_frequency_weights(words, 3)
    np.testing.assert_allclose(weights, [1e-3 / (1e-3 + 0.75), 1e-3 / (1e-3 + 0.25), 1.0])
    a, b = weights[:2]
    means = words.average_rows(vectors.vectors.numpy(), weights)
    np.testing.assert_allclose(means, [[a / (a + b), b / (a + b), 0], [1, 0, 0]])
    np.testing.assert_allclose(
        look_up_known_words(vectors, ["unheard"]).average_rows(vectors.vectors.numpy(), weights), [[0, 0, 0]]
    )


def test_each_mean_equals_its_own_written_out_with_the_c_of_the_folds() -> None:
    texts, vectors = noisy_texts(), small_vectors(WORDS, dim=10, seed=1)
    found = evaluate_mean_vector_sentiment(vectors, texts)
    train = " ".join(texts.splits["train"]["text"][:]).split()
    table = {word: vectors.vectors[row].double().numpy() for word, row in vectors.index.items()}

    def mean(text: str, unit: bool, weighted: bool) -> np.ndarray:
        words = text.split()
        rows = [table[word] / (np.linalg.norm(table[word]) if unit else 1) for word in words]
        shares = [1e-3 / (1e-3 + train.count(word) / len(train)) if weighted else 1 for word in words]
        return np.average(rows, axis=0, weights=shares)

    labels = {split: np.array(rows["label"][:]) for split, rows in texts.splits.items()}
    cases = {"plain": (False, False), "unit": (True, False), "weighted": (False, True), "unit_weighted": (True, True)}
    assert list(found) == list(cases)
    for name, case in cases.items():
        inputs = {
            split: np.array([mean(text, *case) for text in rows["text"][:]]) for split, rows in texts.splits.items()
        }
        inputs = {split: values / inputs["train"].std() for split, values in inputs.items()}
        models = [LogisticRegression(C=c, max_iter=10_000) for c in STRENGTHS]
        folds = [cross_val_score(model, inputs["train"], labels["train"], cv=5).mean() for model in models]
        place = int(np.argmax(folds))
        model = models[place].fit(inputs["train"], labels["train"])
        assert len(set(folds)) > 1
        assert found[name].strength == STRENGTHS[place]
        assert found[name].fold_accuracy == pytest.approx(100 * folds[place])
        for split, score in (("test", found[name].accuracy), ("validation", found[name].validation_accuracy)):
            assert score == pytest.approx(100 * model.score(inputs[split], labels[split]))
    assert len({score.accuracy for score in found.values()}) > 1


def test_the_length_of_all_vectors_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentiment, "STRENGTHS", STRENGTHS[::4])
    texts, vectors = noisy_texts(), small_vectors(WORDS, dim=10, seed=1)
    longer = WordVectors(vectors.words, vectors.vectors * 32, "longer", "00")
    ours, theirs = evaluate_mean_vector_sentiment(vectors, texts), evaluate_mean_vector_sentiment(longer, texts)
    assert [one.strength for one in ours.values()] == [one.strength for one in theirs.values()]
    assert [one.accuracy for one in ours.values()] == [one.accuracy for one in theirs.values()]


def test_texts_without_a_known_word_are_refused() -> None:
    with pytest.raises(ValueError, match="small has a vector for no word of the training sentences"):
        evaluate_mean_vector_sentiment(small_vectors(["mot"]), noisy_texts())
    with pytest.raises(ValueError, match=r"the splits are \['test', 'train'\]; validation is missing"):
        evaluate_mean_vector_sentiment(
            small_vectors(), splits_of(train=[("good", 1), ("bad", 0)], test=[("good", 1), ("bad", 0)])
        )
