"""The start of a wide part: linear SVMs over TF-IDF weighed by naive Bayes and over the mean of word vectors."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import LinearSVC

from ctxzoo.metrics.label_scores import LabelSetScores
from ctxzoo.tasks.text_classification.naive_bayes import compute_log_count_ratios
from ctxzoo.training.remaining_time import RemainingTime

C_VALUES = (0.0625, 0.25, 1.0, 4.0)
FOLDS = 3
TOLERANCE, FOLD_TOLERANCE = 1e-4, 1e-2  # of liblinear, whose own is 0.1: folds choose among values far apart
ROWS_AT_ONCE = 1_000
MOST_ROWS_TO_CHOOSE = 10_000  # from so many training rows on more of them would hardly change which C is best
FACTORS = (1e-2, 1e2)  # between which margins become log-odds
VECTOR_SCALE = 2.0  # of the mean of word vectors beside a TF-IDF of length 1
VECTOR_FACTORS = (1.0, 0.5, 0.25, 0.125, 0.0)  # of this scale, of which one is chosen
PRIOR_VARIANCE = 0.1  # of this mean, as a part of that of words drawn at random
TINY = 1e-12

Matrix = Any  # sparse.csr_matrix, whose package has no types
Labels = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class WideChoice:
    """What cross-validation chose for a linear classifier.

    Attributes:
        cost: Inverse regularization strength C of the SVMs.
        vector_factor: Factor of the columns of word vectors, one of `VECTOR_FACTORS`.
        factor, shift: Numbers that turn margins into log-odds, factor * margin + shift.
    """

    cost: float
    vector_factor: float = 1.0
    factor: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True)
class WideStart:
    """A linear classifier of the TF-IDF of ids and of the mean of word vectors.

    Attributes:
        ids: (K,) ids that the training texts contain.
        inverse_document_frequency: (K,) inverse document frequency of each of these ids.
        weight: (K, L) weight of each of these ids for each of L labels.
        bias: (L,) bias of each of L labels.
        choice: What cross-validation chose, the inverse regularization strength C of the SVMs among it.
        vector_weight: (v, L) weight of each number of this mean for each label; None: no vectors.
    """

    ids: torch.Tensor
    inverse_document_frequency: torch.Tensor
    weight: torch.Tensor
    bias: torch.Tensor
    choice: WideChoice
    vector_weight: torch.Tensor | None = None


@dataclass(frozen=True)
class PooledWords:
    """The word vectors whose mean a linear classifier reads.

    Attributes:
        vectors: (words, v) vector of each word, by id.
        weights: (words,) weight of each word in the mean, 0 for words without a vector.
    """

    vectors: Scores
    weights: Scores

    def compute_means(self, counts: Matrix) -> Scores:
        """Return (rows, v) weighted means of the vectors of counts (rows, V); 0 for a text without a vector."""
        weighted = counts[:, : len(self.weights)] @ sparse.diags(self.weights)
        total = np.asarray(weighted.sum(axis=1))
        means: Scores = (weighted @ self.vectors) / np.where(total > 0, total, 1.0)
        return means

    def compute_spread(self, counts: Matrix, means: Scores) -> Scores:
        """Return (v,) the deviation of each number of the means (rows, v) of counts (rows, V), which is never near 0.

        Means of texts of one form ("a good lamp of kind 7") hardly vary, and every other text would be far outside. So
        a part of the variance is added that means of words at random would have, as many words as a text has.
        """
        weighted = counts[:, : len(self.weights)] @ sparse.diags(self.weights)
        totals, squares = weighted.sum(axis=1), weighted.multiply(weighted).sum(axis=1)
        # Words of unequal weights count as so many of equal ones, of which a mean varies as much.
        num_words = np.asarray(totals) ** 2 / np.maximum(np.asarray(squares), TINY)
        weights = self.weights / max(self.weights.sum(), TINY)
        variance = weights @ (self.vectors - weights @ self.vectors) ** 2
        prior = PRIOR_VARIANCE * variance / np.maximum(num_words, 1.0).mean()
        spread: Scores = np.sqrt(means.var(axis=0) + prior + TINY)
        return spread


def fit_wide_part(
    counts: Matrix,
    labels: Labels,
    num_labels: int,
    group_starts: Sequence[int],
    seed: int,
    costs: Sequence[float] = C_VALUES,
    report_progress: Callable[[int, int], None] = lambda done, total: None,
    words: PooledWords | None = None,
    *,
    class_weights: Scores | None = None,
    objective: str | None = None,
    choice: WideChoice | None = None,
) -> WideStart:
    """Fit the linear classifier from which a wide part starts.

    A linear SVM for each class against the others (of two classes one is enough) reads the TF-IDF, each entry times the
    square root of how much its id speaks for or against the class, |r| of `compute_log_count_ratios`: halfway between
    plain TF-IDF and the NB-SVM of Wang and Manning (2012); and beside it the mean of the word vectors, each of its
    numbers less its mean over the texts, divided by `PooledWords.compute_spread` and multiplied by the factor of
    `VECTOR_FACTORS` with which the cross-entropy on held-out folds is least, which may be 0. C is the one with the best
    accuracy on these folds; the margins are scaled by the factor with which those of the held-out rows are the best
    log-odds of their labels.

    Where a text may have several labels, there is an SVM for each, C is the one with the best micro F1 at the best
    threshold, and one line a + b margin turns margins into the best log-odds of each label (Platt 1999).

    Args:
        counts: (rows, V) sparse matrix: how often each of V token ids occurs in each training text.
        labels: (rows,) class of each row, 0..num_labels-1; or (rows, L) 0 and 1.
        num_labels: Number of labels L.
        group_starts: First id of each group of features that is scaled to length 1 separately, as in
            `layers_wide.tfidf`.
        seed: Seed of the cross-validation folds.
        costs: Values of the inverse regularization strength C to choose from.
        report_progress: Function called with the number of fits that are done and their total, for a progress display.
        words: Word vectors whose mean is read too; None: the TF-IDF alone.
        class_weights: (L,) weight of the rows of each label; None: 1.
        objective: Name of the score by which C is chosen: accuracy or macro_f1; of several labels a text micro_f1,
            macro_f1 or exact_match; None: the first.
        choice: What an earlier fit of nearly the same rows chose, which is taken over; None: it is chosen on folds.

    Raises:
        ValueError: all rows have one label.
    """
    present = np.unique(labels)
    if labels.ndim == 1 and len(present) < 2:
        raise ValueError(f"every training row has the label {present.tolist()}; a classifier needs two or more")
    ids = np.unique(counts.indices)
    center, spread, means = np.zeros(0), np.ones(0), None
    if words is not None:
        means = words.compute_means(counts)
        center = means.mean(axis=0)
        spread = words.compute_spread(counts, means) * np.sqrt(means.shape[1]) / VECTOR_SCALE
    # Columns of ids that no text contains would cost memory for every label.
    counts, starts = counts[:, ids], np.searchsorted(ids, group_starts).tolist()
    idf = compute_inverse_document_frequency(counts)
    features = compute_tfidf(counts, idf, starts)
    if means is not None:
        features = sparse.hstack([features, sparse.csr_matrix((means - center) / spread)]).tocsr()
    fit = partial(_fit_each_label, num_ids=len(ids), class_weights=class_weights)
    if choice is None:
        choice = _choose(features, labels, num_labels, len(ids), fit, seed, costs, report_progress, objective)
    if choice.vector_factor != 1:
        features = _multiply_columns(features, len(ids), choice.vector_factor)
    weight, bias = np.zeros((features.shape[1], num_labels), np.float32), np.full(num_labels, np.nan)
    for label, _, column, intercept in fit(features, labels, costs=(choice.cost,)):
        weight[:, label], bias[label] = column, intercept
    _fill_other_labels(weight, bias, labels)
    weight *= choice.factor
    vector_weight = choice.vector_factor * weight[len(ids) :] / spread[:, None]
    return WideStart(
        ids=torch.from_numpy(ids).long(),
        inverse_document_frequency=torch.from_numpy(idf).float(),
        weight=torch.from_numpy(weight[: len(ids)]),
        bias=torch.from_numpy(choice.factor * bias - center @ vector_weight + choice.shift).float(),
        choice=choice,
        vector_weight=None if words is None else torch.from_numpy(vector_weight).float(),
    )


def compute_inverse_document_frequency(counts: Matrix) -> Scores:
    """Return (V,) log((1 + rows) / (1 + rows with the id)) + 1, and 0 for ids of no row."""
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    idf: Scores = np.log((1 + counts.shape[0]) / (1 + frequency)) + 1
    idf[frequency == 0] = 0.0
    return idf


def compute_tfidf(counts: Matrix, idf: Scores, group_starts: Sequence[int]) -> Matrix:
    """Return the TF-IDF (rows, V) of counts as `ctxzoo.models.layers_wide.tfidf` has it: each group has length 1."""
    entries = np.empty(counts.nnz)
    bounds = [*group_starts, counts.shape[1]]
    # Some rows at a time, so that nothing but the entries is as large as the matrix.
    for first in range(0, counts.shape[0], ROWS_AT_ONCE):
        ends = counts.indptr[first : first + ROWS_AT_ONCE + 1]
        ids, rows = counts.indices[ends[0] : ends[-1]], np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        values = (1 + np.log(counts.data[ends[0] : ends[-1]])) * idf[ids]
        group = np.searchsorted(bounds, ids, side="right") + len(bounds) * rows
        squares = np.bincount(group, values**2)
        lengths = np.sqrt(squares[group])
        entries[ends[0] : ends[-1]] = np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0)
    return _replace_entries(counts, entries)


def _replace_entries(matrix: Matrix, entries: Scores) -> Matrix:
    """Return a sparse matrix with new entries at the same positions, whose index arrays it shares."""
    return sparse.csr_matrix((entries, matrix.indices, matrix.indptr), shape=matrix.shape)


def _choose(
    features: Matrix,
    labels: Labels,
    num_labels: int,
    num_ids: int,
    fit: Callable[..., Iterator[tuple[int, float, Scores, float]]],
    seed: int,
    costs: Sequence[float],
    report_progress: Callable[[int, int], None],
    objective: str | None,
) -> WideChoice:
    """Choose the factor of the word vectors by cross-entropy on held-out rows, then C by the objective.

    Factors are tried from the largest on, with the second C, as long as each is better than the one before. With too
    few rows for folds the choice is the only C or 1, and nothing is multiplied.
    """
    rows = np.random.default_rng(seed).permutation(len(labels))[:MOST_ROWS_TO_CHOOSE]
    features, labels = features[rows], labels[rows]
    folds = list(_split_into_folds(labels, seed))
    if not folds:
        return WideChoice(costs[0] if len(costs) == 1 else 1.0)
    held_out = labels[np.concatenate([rows_of_fold for _, rows_of_fold in folds])]
    others = VECTOR_FACTORS[1:] if num_ids < features.shape[1] else ()
    numbers = itertools.count(1)
    total = len(folds) * (len(costs) + min(1, len(others))) + 1  # the last is that of all rows
    compute = partial(
        _compute_held_out_margins,
        labels=labels,
        num_labels=num_labels,
        fit=fit,
        folds=folds,
        report_fit=lambda: report_progress(next(numbers), total),
    )
    cost = costs[:2][-1]
    vector_factor, margins = VECTOR_FACTORS[0], compute(features, costs=(cost,))
    loss = _fit_score_scale(margins[cost], held_out)[0]
    for number, other in enumerate(others):
        total += len(folds) if number else 0
        of_other = compute(_multiply_columns(features, num_ids, other), costs=(cost,))
        loss_of_other = _fit_score_scale(of_other[cost], held_out)[0]
        if loss_of_other >= loss:
            break
        vector_factor, margins, loss = other, of_other, loss_of_other
    multiplied = _multiply_columns(features, num_ids, vector_factor) if vector_factor != 1 else features
    margins |= compute(multiplied, costs=[one for one in costs if one != cost])
    values = {one: _compute_objective(margins[one], held_out, objective) for one in costs}
    best = max(values, key=values.__getitem__)
    _, factor, shift = _fit_score_scale(margins[best], held_out)
    return WideChoice(best, vector_factor, factor, shift)


def _compute_held_out_margins(
    features: Matrix,
    *,
    labels: Labels,
    num_labels: int,
    fit: Callable[..., Iterator[tuple[int, float, Scores, float]]],
    folds: Sequence[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]],
    costs: Sequence[float],
    report_fit: Callable[[], None],
) -> dict[float, Scores]:
    """Return by cost the margins (rows, L) of the held-out rows of all folds, by SVMs fitted to the other rows.

    `report_fit` is called when the SVMs of all labels are fitted for one C and fold.
    """
    parts: dict[float, list[Scores]] = {cost: [] for cost in costs}
    for fitted, held_out in folds:
        # Margins of one label at a time: weights of all labels would take memory for nothing.
        of_held, number = features[held_out], len(_select_classes_to_fit(labels[fitted]))
        margins = {cost: np.zeros((len(held_out), num_labels)) for cost in costs}
        biases = {cost: np.full(num_labels, np.nan) for cost in costs}
        svms = fit(features[fitted], labels[fitted], costs=costs, tolerance=FOLD_TOLERANCE)
        for svm, (label, cost, column, intercept) in enumerate(svms, 1):
            margins[cost][:, label], biases[cost][label] = of_held @ column, intercept
            if svm % number == 0:
                report_fit()
        for cost in costs:
            _fill_other_labels(margins[cost], biases[cost], labels[fitted])
            parts[cost].append(margins[cost] + biases[cost])
    return {cost: np.concatenate(of_cost) for cost, of_cost in parts.items()}


def _multiply_columns(matrix: Matrix, first: int, factor: float) -> Matrix:
    """Return a sparse matrix whose columns from `first` on are multiplied by a factor."""
    return _replace_entries(matrix, np.where(matrix.indices < first, 1.0, factor) * matrix.data)


def _compute_objective(scores: Scores, labels: Labels, objective: str | None) -> float:
    """Return the score by which C is chosen, of margins (rows, L); of several labels a text at the best threshold."""
    if labels.ndim == 2:
        sets = LabelSetScores(labels.shape[1])
        sets.update(torch.from_numpy(scores).sigmoid(), torch.from_numpy(labels))
        return float(sets.compute_at_thresholds()[objective or "micro_f1"].max())
    predicted = scores.argmax(axis=1)
    if objective == "macro_f1":
        return float(f1_score(labels, predicted, average="macro", zero_division=0.0))
    return float(accuracy_score(labels, predicted))


def _select_classes_to_fit(labels: Labels) -> npt.NDArray[np.int64]:
    """Return the classes for which an SVM is fitted: all, or of two classes the second alone.

    Of several labels a text these are the labels that some rows have and others have not.
    """
    if labels.ndim == 2:
        return np.flatnonzero(labels.any(axis=0) & ~labels.all(axis=0))
    classes = np.unique(labels)
    return classes[1:] if len(classes) == 2 else classes


def _fit_each_label(
    features: Matrix,
    labels: Labels,
    *,
    num_ids: int,
    costs: Sequence[float],
    class_weights: Scores | None,
    tolerance: float = TOLERANCE,
) -> Iterator[tuple[int, float, Scores, float]]:
    """Yield the linear SVM of each label and cost: label, C, weights (columns,) and bias.

    Columns of ids are multiplied by the square root of |r| of `compute_log_count_ratios`, those behind them by 1.

    Args:
        features: (rows, columns) features.
        labels: (rows,) classes; or (rows, L) 0 and 1.
        num_ids: Number of first columns that are ids.
        costs: Values of C.
        class_weights: (L,) weight of the rows of each label; None: 1.
        tolerance: Violation of the conditions of the optimum at which an SVM is done.
    """
    several, tfidf = labels.ndim == 2, features[:, :num_ids]
    present = _replace_entries(tfidf, np.ones(tfidf.nnz))
    fitted = _select_classes_to_fit(labels)
    half = 0.5 if not several and len(fitted) == 1 else 1.0  # of two classes each has half of the margin
    for label in fitted.tolist():
        ratios = compute_log_count_ratios(present, labels, [label])[0]
        scale = np.concatenate([np.sqrt(np.abs(ratios)), np.ones(features.shape[1] - num_ids)])
        scaled = _replace_entries(features, features.data * scale[features.indices])
        is_one = labels[:, label] == 1 if several else labels == label
        of_rows = None
        if class_weights is not None:
            of_rows = np.where(is_one, class_weights[label], 1.0) if several else class_weights[labels]
        for cost in costs:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # of a large C: not chosen, or as good
                model = LinearSVC(C=cost, tol=tolerance, random_state=0).fit(scaled, is_one, of_rows)
            yield label, cost, half * model.coef_[0] * scale, half * float(model.intercept_[0])


def _fill_other_labels(values: Any, biases: Scores, labels: Labels) -> None:
    """Fill in the columns of labels without an SVM, whose bias is not a number, in place.

    Of two classes the first is the negative of the second. A class without a row never wins; of several labels a text,
    one that all rows have, or none, is as sure as a margin of 1.

    Args:
        values: (rows, L) margins, or weights, of each label.
        biases: (L,) bias of each label.
        labels: (rows,) classes of the rows that SVMs were fitted to; or (rows, L) 0 and 1.
    """
    if labels.ndim == 2:
        biases[:] = np.where(np.isnan(biases), np.where(labels.all(axis=0), 1.0, -1.0), biases)
        return
    classes = np.unique(labels)
    if len(classes) == 2:
        values[:, classes[0]], biases[classes[0]] = -values[:, classes[1]], -biases[classes[1]]
    biases[np.isnan(biases)] = np.nanmin(biases) - 1.0


def _split_into_folds(labels: Labels, seed: int) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Yield rows to fit on and rows held out, over which every class is spread.

    There are fewer folds where no class has so many rows, and none where each row has a class of its own.
    """
    if labels.ndim == 2:
        if len(labels) >= FOLDS:
            yield from KFold(FOLDS, shuffle=True, random_state=seed).split(labels)
        return
    most = int(np.bincount(labels).max())
    if most < 2:
        return
    with warnings.catch_warnings():
        # Of a class with fewer rows than folds some folds have none, which is as good as it gets.
        warnings.filterwarnings("ignore", message="The least populated class")
        for fitted, held in StratifiedKFold(min(FOLDS, most), shuffle=True, random_state=seed).split(labels, labels):
            if len(np.unique(labels[fitted])) > 1:
                yield fitted, held


def _fit_score_scale(scores: Scores, labels: Labels) -> tuple[float, float, float]:
    """Return the least cross-entropy of scores (rows, L) on the labels, and factor and shift with which they have it.

    It is that of their softmax, with the shift 0; of several labels a text that of sigmoids. As Platt (1999) has it,
    the target of n rows is not 1 for their label but (n + 1) / (n + L), of a label that is there or not with L = 2:
    where no row is on the wrong side, the factor would have no limit.
    """
    bounds = tuple(np.log(bound) for bound in FACTORS)
    if labels.ndim == 2:
        marks = (len(labels) * labels.astype(np.float64) + 1) / (len(labels) + 2)

        def binary_cross_entropy(numbers: Scores) -> float:
            logits = np.exp(numbers[0]) * scores + numbers[1]
            return float((np.logaddexp(0.0, logits) - marks * logits).mean())

        found = minimize(binary_cross_entropy, [0.0, 0.0], bounds=[bounds, (-10.0, 10.0)])
        return float(found.fun), float(np.exp(found.x[0])), float(found.x[1])
    rest = 1 / (len(labels) + scores.shape[1])
    targets = np.full(scores.shape, rest)
    targets[np.arange(len(labels)), labels] += len(labels) * rest

    def cross_entropy(log_factor: float) -> float:
        logits = np.exp(log_factor) * scores
        return float((logsumexp(logits, axis=1) - (targets * logits).sum(axis=1)).mean())

    found = minimize_scalar(cross_entropy, bounds=bounds, method="bounded")
    return float(found.fun), float(np.exp(found.x)), 0.0


def has_wide_part(model: Any) -> bool:
    """Return whether the model adds the scores of a linear classifier to its own."""
    return getattr(model, "wide", None) is not None


def initialize_wide_part(model: Any, data: Any, splits: tuple[str, ...], *, tell_time: bool = False) -> None:
    """Fit the wide part of a model to these splits; a fit that takes long reports its progress."""
    number = sum(len(data.rows(split)) for split in splits)
    read = number if data.wide_rows is None else min(number, data.wide_rows)
    remaining = RemainingTime(f"linear part, fitted to {read:,} texts of {' and '.join(splits)}", "fits")
    tell = remaining.print_if_due if tell_time else (lambda done, total: None)
    start = data.fit_wide_part(splits, model.config.wide_group_starts, tell, _get_pooled_words(model))
    model.init_wide_part(
        start.ids,
        inverse_document_frequency=start.inverse_document_frequency,
        weight=start.weight,
        bias=start.bias,
        vector_weight=start.vector_weight,
    )


def _get_pooled_words(model: Any) -> PooledWords | None:
    """Return the given word vectors of a model, whose mean its wide part reads; None where it has none."""
    if model.wide.vector_weight is None:
        return None
    table = model.get_input_embeddings()
    vectors = table.vectors.double() * table.scales.double()
    return PooledWords(vectors.cpu().numpy(), table.mean_weights.double().cpu().numpy())
