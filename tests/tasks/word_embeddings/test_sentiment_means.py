"""Sentiment from means of words at length 1 and weighted by frequency; the penalty by folds of the training part."""

from __future__ import annotations

import datasets
import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from ctxzoo.tasks.text_classification.reader import TextSplits, check_texts
from ctxzoo.tasks.word_embeddings.sentence_means import known_words
from ctxzoo.tasks.word_embeddings.sentiment import STRENGTHS
from ctxzoo.tasks.word_embeddings.sentiment_means import evaluate_means, frequency_weights
from ctxzoo.word_vectors.vectors import WordVectors
from tests.support.word_vector_files import small_vectors

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
    words = known_words(vectors, ["the film", "the the unheard"])
    weights = frequency_weights(words, 3)
    np.testing.assert_allclose(weights, [1e-3 / (1e-3 + 0.75), 1e-3 / (1e-3 + 0.25), 1.0])
    a, b = weights[:2]
    means = words.mean(vectors.vectors.numpy(), weights)
    np.testing.assert_allclose(means, [[a / (a + b), b / (a + b), 0], [1, 0, 0]])
    np.testing.assert_allclose(known_words(vectors, ["unheard"]).mean(vectors.vectors.numpy(), weights), [[0, 0, 0]])


def test_each_mean_equals_its_own_written_out_with_the_c_of_the_folds() -> None:
    texts, vectors = noisy_texts(), small_vectors(WORDS, dim=10, seed=1)
    found = evaluate_means(vectors, texts)
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


def test_the_length_of_all_vectors_changes_nothing() -> None:
    texts, vectors = noisy_texts(), small_vectors(WORDS, dim=10, seed=1)
    longer = WordVectors(vectors.words, vectors.vectors * 32, "longer", "00")
    ours, theirs = evaluate_means(vectors, texts), evaluate_means(longer, texts)
    assert [one.strength for one in ours.values()] == [one.strength for one in theirs.values()]
    assert [one.accuracy for one in ours.values()] == [one.accuracy for one in theirs.values()]


def test_texts_without_a_known_word_are_refused() -> None:
    with pytest.raises(ValueError, match="small has a vector for no word of the training sentences"):
        evaluate_means(small_vectors(["mot"]), noisy_texts())
    with pytest.raises(ValueError, match=r"the splits are \['test', 'train'\]; validation is missing"):
        evaluate_means(small_vectors(), splits_of(train=[("good", 1), ("bad", 0)], test=[("good", 1), ("bad", 0)]))
