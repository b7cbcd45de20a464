"""Linear baselines: naive-Bayes weights against a computation by hand, and what each can and cannot tell."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ctxzoo.evaluation.linear_baselines import LINEAR_BASELINES, NaiveBayesWeighted, linear_baseline

TEXTS = ["good good film", "a good one", "bad film", "a bad bad one", "good !", "bad !"]
LABELS = np.array([1, 1, 0, 0, 1, 0])


def test_ratios_are_those_of_the_paper() -> None:
    counts = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0]])
    model = NaiveBayesWeighted().fit(sparse.csr_matrix(counts), np.array([1, 1, 0, 0]))
    p, q = np.array([3.0, 2.0, 2.0]), np.array([1.0, 3.0, 2.0])  # smoothed by one
    np.testing.assert_allclose(model.ratios_[0], np.log((p / 7) / (q / 6)))


@pytest.mark.parametrize("name", LINEAR_BASELINES)
def test_it_learns_from_words(name: str) -> None:
    model = linear_baseline(name).fit(TEXTS * 5, np.tile(LABELS, 5))
    assert (model.predict(TEXTS) == LABELS).all()
    assert list(model.predict(["good", "bad bad"])) == [1, 0]


@pytest.mark.parametrize("name", LINEAR_BASELINES)
def test_more_than_two_classes(name: str) -> None:
    texts, labels = [*TEXTS, "dull film", "a dull one"], np.array([*LABELS, 2, 2])
    model = linear_baseline(name).fit(texts * 5, np.tile(labels, 5))
    assert (model.predict(texts) == labels).all()


def test_pairs_of_words_and_signs_are_features() -> None:
    texts, labels = ["not good", "good not", "not bad", "bad not"] * 5, np.array([0, 1, 1, 0] * 5)
    assert (linear_baseline("bigram_nbsvm").fit(texts, labels).predict(texts) == labels).all()
    signs, of_signs = ["! ?", "? !"] * 5, np.array([0, 1] * 5)
    assert (linear_baseline("words_characters_svm").fit(signs, of_signs).predict(signs) == of_signs).all()


def test_an_unknown_name() -> None:
    with pytest.raises(ValueError, match="'svm'; known: words_characters_svm, bigram_naive_bayes, bigram_nbsvm"):
        linear_baseline("svm")
