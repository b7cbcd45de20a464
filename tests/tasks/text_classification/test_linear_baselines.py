"""Linear baselines: naive-Bayes weights against a computation by hand, and what each can and cannot tell."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from ctxzoo.tasks.text_classification.linear_baselines import (
    C_VALUES,
    COSTS,
    DOCUMENT_BASELINES,
    LINEAR_BASELINES,
    MAJORITY_CLASS,
    TUNED_DOCUMENT,
    TUNED_LINEAR,
    NaiveBayesWeighted,
    chosen_cost,
    linear_baseline,
    number_of_weights,
)
from ctxzoo.tasks.text_classification.sample import sample_texts

BASELINES = (*LINEAR_BASELINES, *DOCUMENT_BASELINES)
TEXTS = ["good good film", "a good one", "bad film", "a bad bad one", "good !", "bad !"]
LABELS = np.array([1, 1, 0, 0, 1, 0])


def test_ratios_are_those_of_the_paper() -> None:
    counts = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0]])
    model = NaiveBayesWeighted().fit(sparse.csr_matrix(counts), np.array([1, 1, 0, 0]))
    p, q = np.array([3.0, 2.0, 2.0]), np.array([1.0, 3.0, 2.0])  # smoothed by one
    np.testing.assert_allclose(model.ratios_[0], np.log((p / 7) / (q / 6)))


def test_weights_are_those_of_the_svm_times_the_ratios() -> None:
    counts, labels = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0]]), np.array([1, 1, 0, 0])
    model = NaiveBayesWeighted(C=0.5).fit(sparse.csr_matrix(counts), labels)
    svm = LinearSVC(C=0.5, random_state=0).fit(sparse.csr_matrix(counts * model.ratios_[0]), labels)
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_matrix(counts)), svm.decision_function(counts * model.ratios_[0])
    )


def test_another_classifier_can_be_weighted() -> None:
    counts, labels = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0]]), np.array([1, 1, 0, 0])
    logistic = LogisticRegression(C=0.7, solver="liblinear")
    model = NaiveBayesWeighted(classifier=logistic).fit(sparse.csr_matrix(counts), labels)
    alone = LogisticRegression(C=0.7, solver="liblinear").fit(counts * model.ratios_[0], labels)
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_matrix(counts)), alone.decision_function(counts * model.ratios_[0])
    )
    assert not hasattr(logistic, "coef_")


@pytest.mark.parametrize("name", DOCUMENT_BASELINES)
def test_words_are_cut_as_the_cutter_does(name: str) -> None:
    text = "It's GOOD.<br />Isn't"
    words = {
        cutter: set(linear_baseline(name, cutter)[:1].fit([text])[0].get_feature_names_out())
        for cutter in ("whitespace", "english")
    }
    assert words["whitespace"] == {"it's", "it's good.<br", "good.<br", "good.<br />isn't", "/>isn't"}
    one = ["it", "'s", "good", ".", "is", "n't"]
    assert words["english"] == {*one, *(f"{first} {second}" for first, second in pairwise(one))}


@pytest.mark.parametrize("name", BASELINES)
def test_it_learns_from_words(name: str) -> None:
    model = linear_baseline(name).fit(TEXTS * 5, np.tile(LABELS, 5))
    assert (model.predict(TEXTS) == LABELS).all()
    assert list(model.predict(["good", "bad bad"])) == [1, 0]


@pytest.mark.parametrize("name", BASELINES)
def test_more_than_two_classes(name: str) -> None:
    texts, labels = [*TEXTS, "dull film", "a dull one"], np.array([*LABELS, 2, 2])
    model = linear_baseline(name).fit(texts * 5, np.tile(labels, 5))
    assert (model.predict(texts) == labels).all()


def test_pairs_of_words_and_signs_are_features() -> None:
    texts, labels = ["not good", "good not", "not bad", "bad not"] * 5, np.array([0, 1, 1, 0] * 5)
    assert (linear_baseline("bigram_nbsvm").fit(texts, labels).predict(texts) == labels).all()
    signs, of_signs = ["! ?", "? !"] * 5, np.array([0, 1] * 5)
    assert (linear_baseline("words_characters_svm").fit(signs, of_signs).predict(signs) == of_signs).all()


def test_the_majority_class_reads_nothing() -> None:
    model = linear_baseline(MAJORITY_CLASS).fit(["a", "b", "c"], np.array([2, 5, 5]))
    assert list(model.predict(["a", "never seen"])) == [5, 5]


def test_number_of_weights() -> None:
    texts, features = ["a b", "b c"], 5  # a, b, c, and the pairs a b, b c
    two, three = np.array([0, 1] * 3), np.array([0, 1, 2] * 2)
    found = {
        name: [number_of_weights(linear_baseline(name).fit(texts * 3, labels)) for labels in (two, three)]
        for name in ("bigram_nbsvm", "bigram_naive_bayes", MAJORITY_CLASS)
    }
    assert found == {
        "bigram_nbsvm": [features + 1, 3 * (features + 1)],
        "bigram_naive_bayes": [2 * (features + 1), 3 * (features + 1)],
        MAJORITY_CLASS: [0, 0],
    }
    model = linear_baseline("words_characters_svm").fit(texts * 3, two)
    assert number_of_weights(model) == len(model[0].get_feature_names_out()) + 1


def test_an_unknown_name() -> None:
    with pytest.raises(ValueError, match=r"'svm'; known: .*, bigram_nbsvm, words_svm, bigram_nblr, .*, majority_class"):
        linear_baseline("svm")


@pytest.mark.parametrize("name", [*TUNED_LINEAR, *TUNED_DOCUMENT])
def test_the_cost_is_that_of_the_best_accuracy_within_the_texts_fitted(name: str) -> None:
    plain = name.removesuffix("_tuned")
    rows = sample_texts()["train"].shuffle(seed=1).select(range(120))
    texts, labels = rows["text"][:], np.array(rows["label"][:])
    labels[:40] = 1 - labels[:40]  # so that costs differ
    fitted = linear_baseline(name).fit(texts, labels)
    *features, (_, classifier) = linear_baseline(plain).steps
    inputs = Pipeline(features).fit_transform(texts)
    accuracies = [
        cross_val_score(classifier.set_params(**{COSTS[plain]: cost}), inputs, labels, cv=3).mean() for cost in C_VALUES
    ]
    best = C_VALUES[int(np.argmax(accuracies))]
    assert len(set(accuracies)) > 1
    assert chosen_cost(fitted) == best
    alone = linear_baseline(plain)
    alone[-1].set_params(**{COSTS[plain]: best})
    others = sample_texts()["test"]["text"][:]
    assert (fitted.predict(others) == alone.fit(texts, labels).predict(others)).all()
    assert number_of_weights(fitted) == number_of_weights(alone)


def test_baselines_without_a_choice_have_chosen_nothing() -> None:
    assert chosen_cost(linear_baseline("bigram_nbsvm").fit(TEXTS, LABELS)) is None
    with pytest.raises(ValueError, match="unknown linear baseline 'bigram_naive_bayes_tuned'"):
        linear_baseline("bigram_naive_bayes_tuned")
