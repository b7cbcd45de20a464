"""The start of a wide part: a linear SVM over the TF-IDF of ids, scaled to log-odds, and its out-of-fold scores."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

C_VALUES = (0.0625, 0.25, 1.0, 4.0, 16.0)
FOLDS = 5  # of the out-of-fold scores; C is chosen by 3
C_FOLDS = 3
MOST_ROWS_TO_CHOOSE = 10_000  # from so many training rows on more of them would hardly change which C is best
FACTORS = (1e-2, 1e2)  # between which margins become log-odds

Matrix = Any  # sparse.csr_matrix, whose package has no types


@dataclass(frozen=True)
class WideStart:
    """A linear classifier of the TF-IDF of ids, and what it gives texts that it has not seen.

    Attributes:
        inverse_document_frequency: (V,), 0 for ids that no training text has.
        weight: (V, L).
        bias: (L,).
        out_of_fold_scores: (rows, L): of each training row from a classifier fitted without its fold.
        cost: C of the SVM.
    """

    inverse_document_frequency: torch.Tensor
    weight: torch.Tensor
    bias: torch.Tensor
    out_of_fold_scores: torch.Tensor
    cost: float


def wide_start(
    counts: Matrix, labels: npt.NDArray[np.int64], num_labels: int, group_starts: Sequence[int], seed: int
) -> WideStart:
    """Fit the linear classifier from which a wide part starts.

    It is a linear SVM, one class against the others, whose C has the best accuracy in three folds. Its margins are
    scaled by the factor with which their out-of-fold values are the best log-odds of the labels.

    Args:
        counts: (rows, V) sparse, how often an id is in a training text; ids of padding have no column entry.
        labels: (rows,) class of each row, 0..num_labels-1.
        num_labels: L.
        group_starts: first id of each group whose part of the TF-IDF has length 1; see `ctxzoo.models.ops_tfidf.tfidf`.
        seed: of the folds.

    Raises:
        ValueError: all rows have one label.
    """
    present = np.unique(labels)
    if len(present) < 2:
        raise ValueError(f"every training row has the label {present.tolist()}; a classifier needs two or more")
    idf = inverse_document_frequency(counts)
    features = tfidf_matrix(counts, idf, group_starts)
    cost = _chosen_cost(features, labels, seed)
    scores = np.zeros((len(labels), num_labels))
    for fitted, held_out in _folds(labels, FOLDS, seed):
        weight, bias = _fit(features[fitted], labels[fitted], num_labels, cost)
        scores[held_out] = features[held_out] @ weight + bias
    factor = _factor(scores, labels)
    weight, bias = _fit(features, labels, num_labels, cost)
    return WideStart(
        inverse_document_frequency=torch.from_numpy(idf).float(),
        weight=torch.from_numpy(factor * weight).float(),
        bias=torch.from_numpy(factor * bias).float(),
        out_of_fold_scores=torch.from_numpy(factor * scores).float(),
        cost=cost,
    )


def inverse_document_frequency(counts: Matrix) -> npt.NDArray[np.float64]:
    """Return (V,) log((1 + rows) / (1 + rows with the id)) + 1, and 0 for ids of no row."""
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    idf: npt.NDArray[np.float64] = np.log((1 + counts.shape[0]) / (1 + frequency)) + 1
    idf[frequency == 0] = 0.0
    return idf


def tfidf_matrix(counts: Matrix, idf: npt.NDArray[np.float64], group_starts: Sequence[int]) -> Matrix:
    """Return the TF-IDF (rows, V) of counts as `ctxzoo.models.ops_tfidf.tfidf` has it: each group has length 1."""
    values = counts.astype(np.float64)
    values.data = 1 + np.log(values.data)
    values = sparse.csr_matrix(values @ sparse.diags(idf))
    groups = [values[:, start:end] for start, end in pairwise([*group_starts, values.shape[1]])]
    return sparse.csr_matrix(sparse.hstack([normalize(group) for group in groups]))


def _fit(
    features: Matrix, labels: npt.NDArray[np.int64], num_labels: int, cost: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return weights (V, L) and biases (L,) of a linear SVM; those of a class without a row never win."""
    model = LinearSVC(C=cost, random_state=0).fit(features, labels)
    coefficients, intercepts = model.coef_, model.intercept_
    if len(model.classes_) == 2:  # one margin: half of it for the second class, half against the first
        coefficients = np.concatenate([-coefficients, coefficients]) / 2
        intercepts = np.concatenate([-intercepts, intercepts]) / 2
    weight = np.zeros((features.shape[1], num_labels))
    bias = np.full(num_labels, intercepts.min() - 1.0)
    weight[:, model.classes_], bias[model.classes_] = coefficients.T, intercepts
    return weight, bias


def _chosen_cost(features: Matrix, labels: npt.NDArray[np.int64], seed: int) -> float:
    rows = np.random.default_rng(seed).permutation(len(labels))[:MOST_ROWS_TO_CHOOSE]
    folds = _folds(labels[rows], C_FOLDS, seed)
    if not folds:
        return 1.0
    search = GridSearchCV(LinearSVC(random_state=0), {"C": list(C_VALUES)}, cv=folds, refit=False)
    search.fit(features[rows], labels[rows])
    return float(search.best_params_["C"])


def _folds(
    labels: npt.NDArray[np.int64], number: int, seed: int
) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Return rows to fit on and rows held out, of each fold, over which every class is spread.

    There are fewer where no class has so many rows, and none where each row has a class of its own.
    """
    most = int(np.bincount(labels).max())
    if most < 2:
        return []
    with warnings.catch_warnings():
        # Of a class with fewer rows than folds some folds have none, which is as good as it gets.
        warnings.filterwarnings("ignore", message="The least populated class")
        folds = StratifiedKFold(min(number, most), shuffle=True, random_state=seed)
        return [(fitted, held_out) for fitted, held_out in folds.split(labels, labels) if len(set(labels[fitted])) > 1]


def _factor(scores: npt.NDArray[np.float64], labels: npt.NDArray[np.int64]) -> float:
    """Return the factor of scores (rows, L) with which their softmax has the least cross-entropy on the labels."""

    def cross_entropy(log_factor: float) -> float:
        logits = np.exp(log_factor) * scores
        of_label = logits[np.arange(len(labels)), labels]
        return float((logsumexp(logits, axis=1) - of_label).mean())

    bounds = tuple(np.log(bound) for bound in FACTORS)
    return float(np.exp(minimize_scalar(cross_entropy, bounds=bounds, method="bounded").x))
