"""Linear classifiers of n-grams: what a user would take instead of a small neural model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.svm import LinearSVC

from ctxzoo.data.log_count_ratios import log_count_ratios

LINEAR_BASELINES = ("words_characters_svm", "bigram_naive_bayes", "bigram_nbsvm")
MAJORITY_CLASS = "majority_class"

_WORDS: dict[str, Any] = {"token_pattern": r"(?u)\S+", "ngram_range": (1, 2)}  # texts come in words already


class NaiveBayesWeighted(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """A linear SVM over features that are scaled by their naive-Bayes log-count ratio (Wang and Manning 2012).

    The classifier of a class against the others sees x * r with the ratios r of the class (`log_count_ratios`). `coef_`
    are its weights times r, for x itself.

    Args:
        C: of the SVM.
    """

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, X: sparse.csr_matrix, y: npt.ArrayLike) -> NaiveBayesWeighted:
        labels = np.asarray(y)
        self.classes_ = np.unique(labels)
        # Of two classes one classifier is enough: the other's is its negative.
        wanted = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        self.ratios_ = log_count_ratios(X, labels, wanted)
        weights, intercepts = [], []
        for label, ratios in zip(wanted, self.ratios_, strict=True):
            model = LinearSVC(C=self.C, random_state=0).fit(X @ sparse.diags(ratios), labels == label)
            weights.append(model.coef_[0] * ratios)
            intercepts.append(model.intercept_[0])
        self.coef_, self.intercept_ = np.stack(weights), np.array(intercepts)
        return self

    def decision_function(self, X: sparse.csr_matrix) -> npt.NDArray[np.float64]:
        """(rows, classes), or (rows,) for the second of two classes."""
        scores: npt.NDArray[np.float64] = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: sparse.csr_matrix) -> npt.NDArray[Any]:
        scores = self.decision_function(X)
        places = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        predicted: npt.NDArray[Any] = self.classes_[places]
        return predicted


def linear_baseline(name: str) -> Pipeline:
    """An untrained scikit-learn pipeline from texts to classes: one of `LINEAR_BASELINES` or `MAJORITY_CLASS`.

    Texts are lower-cased and cut at whitespace.

    - words_characters_svm: TF-IDF of words (1-2) and of characters within words (2-5), linear SVM;
    - bigram_naive_bayes: multinomial naive Bayes over whether words and pairs of words occur;
    - bigram_nbsvm: the same features weighted by naive Bayes, linear SVM;
    - majority_class: the most frequent class, whatever the text.

    Raises:
        ValueError: an unknown name; the message lists the known ones.
    """
    if name == "words_characters_svm":
        words = TfidfVectorizer(**_WORDS, sublinear_tf=True)
        characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
        return make_pipeline(make_union(words, characters), LinearSVC(random_state=0))
    if name == "bigram_naive_bayes":
        return make_pipeline(CountVectorizer(**_WORDS, binary=True), MultinomialNB())
    if name == "bigram_nbsvm":
        return make_pipeline(CountVectorizer(**_WORDS, binary=True), NaiveBayesWeighted(C=0.1))
    if name == MAJORITY_CLASS:
        return make_pipeline(DummyClassifier(strategy="most_frequent"))
    raise ValueError(f"unknown linear baseline {name!r}; known: {', '.join((*LINEAR_BASELINES, MAJORITY_CLASS))}")


def number_of_weights(model: Pipeline) -> int:
    """Numbers by which the classifier of a fitted `linear_baseline` weighs features and classes."""
    fitted = ("coef_", "intercept_", "feature_log_prob_", "class_log_prior_")
    return sum(getattr(model[-1], name).size for name in fitted if hasattr(model[-1], name))
