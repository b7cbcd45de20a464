"""The linear classifier from which a wide part starts, against scikit-learn and against what the model computes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.special import log_softmax, softmax
from sklearn.svm import LinearSVC

from ctxzoo.models.layers_text_input import PretrainedEmbedding
from ctxzoo.models.layers_wide import LinearTextScores
from ctxzoo.tasks.text_classification import wide_start as module
from ctxzoo.tasks.text_classification.naive_bayes import compute_log_count_ratios
from ctxzoo.tasks.text_classification.wide_start import (
    PooledWords,
    WideChoice,
    compute_inverse_document_frequency,
    compute_tfidf,
    fit_wide_part,
)
from ctxzoo.word_vectors.small_table import round_to_int8

STARTS = (0, 12)


def texts(rows: int, labels: int, seed: int = 0) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Counts (rows, 20) whose ids tell of the label, column 0 (padding) empty, and the labels."""
    generator = np.random.default_rng(seed)
    of_row = np.arange(rows) % labels
    counts = generator.poisson(0.5, (rows, 20)) + 3 * (np.arange(20) % labels == of_row[:, None]) * (
        generator.random((rows, 20)) < 0.3
    )
    counts[:, 0] = 0
    counts[:, -1] = 0  # an id that no text has
    return sparse.csr_matrix(counts), of_row


def ids_of(counts: sparse.csr_matrix) -> tuple[torch.Tensor, torch.Tensor]:
    rows = [np.repeat(np.arange(20), row) for row in counts.toarray()]
    longest = max(map(len, rows))
    ids = torch.tensor(np.array([np.pad(row, (0, longest - len(row))) for row in rows]))
    return ids, torch.arange(longest) < torch.tensor([len(row) for row in rows]).unsqueeze(1)


@pytest.mark.parametrize("labels", [2, 3])
def test_the_layer_gives_the_margins_of_the_svms(labels: int) -> None:
    counts, of_row = texts(60, labels)
    start = fit_wide_part(counts, of_row, labels, STARTS, seed=0)
    layer = LinearTextScores(20, labels, list(STARTS), num_rows=len(start.ids))
    layer.init_from_linear_classifier(start.ids, start.inverse_document_frequency, start.weight, start.bias)
    found = layer(*ids_of(counts)).detach().numpy()

    features = compute_tfidf(counts, compute_inverse_document_frequency(counts), STARTS)
    present = (features > 0).astype(float)
    margins = []
    for label in [1] if labels == 2 else range(labels):
        scale = np.sqrt(np.abs(compute_log_count_ratios(present, of_row, [label])[0]))
        svm = LinearSVC(C=start.choice.cost, random_state=0).fit(features @ sparse.diags(scale), of_row == label)
        margins.append(svm.decision_function(features @ sparse.diags(scale)))
    expected = np.stack([-margins[0] / 2, margins[0] / 2] if labels == 2 else margins, axis=1)
    factor = (found / expected).mean()
    assert factor > 0
    # Of more than two classes the weights of an id are rounded to 1 / 127 of the largest.
    np.testing.assert_allclose(found, factor * expected, rtol=2e-3, atol=2e-3 if labels == 2 else 0.05)


def test_weights_are_those_of_the_ids_as_they_are_now() -> None:
    """What is kept of the ids is made anew after a fit, after weights are loaded, and in an exported program."""
    ids, mask, fitted = torch.tensor([[1, 2, 3]]), torch.ones(1, 3, dtype=torch.bool), torch.tensor([3, 1])
    layer, other = (LinearTextScores(9, 2, [0], num_rows=2) for _ in range(2))
    with torch.inference_mode():
        assert layer.get_row_of_id().tolist() == [2] + 8 * [0]  # new: both rows are of id 0
    layer.init_from_linear_classifier(fitted, torch.ones(2), torch.tensor([[3.0, -3.0], [1.0, 0.5]]), torch.zeros(2))
    assert layer.get_row_of_id().tolist() == [0, 2, 0, 1, 0, 0, 0, 0, 0]
    assert other(ids, mask).tolist() == [[0, 0]]
    other.load_state_dict(layer.state_dict())
    expected = torch.tensor([[4.0, -2.5]]) / 2**0.5
    torch.testing.assert_close(other(ids, mask).detach(), expected, atol=0.02, rtol=0)
    exported = torch.export.export(other, (ids, mask)).module()
    torch.testing.assert_close(exported(ids, mask), other(ids, mask))


@pytest.mark.parametrize("vector_factor", [1.0, 0.5, 0.0])
def test_the_mean_of_word_vectors_is_read_beside_tfidf(vector_factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    # A random vector tells nothing of the label: the less it counts, the better on held-out rows.
    monkeypatch.setattr(module, "VECTOR_FACTORS", tuple(dict.fromkeys((1.0, vector_factor))))
    counts, of_row = texts(60, 2)
    generator = np.random.default_rng(1)
    vectors, weights = generator.normal(size=(8, 3)), generator.random(8)
    weights[[0, 5]] = 0.0  # padding, and a word without a vector
    start = fit_wide_part(counts, of_row, 2, STARTS, seed=0, words=PooledWords(vectors, weights))

    table = PretrainedEmbedding(8, 3, trained_rows=2)
    rounded, scales = round_to_int8(vectors.astype(np.float32))
    mean_weights = torch.from_numpy(weights).float()
    table.init_from_vectors(torch.from_numpy(rounded), torch.from_numpy(scales), torch.randn(2, 3), mean_weights)
    layer = LinearTextScores(20, 2, list(STARTS), num_rows=len(start.ids), width=3)
    layer.init_from_linear_classifier(
        start.ids, start.inverse_document_frequency, start.weight, start.bias, start.vector_weight
    )
    found = layer(*ids_of(counts), table).detach().numpy()

    weighted = counts.toarray()[:, :8] * weights
    totals = weighted.sum(axis=1, keepdims=True)
    means = np.divide(weighted @ vectors, totals, out=np.zeros((60, 3)), where=totals > 0)
    assert (totals == 0).any()  # a text without a vector has the mean 0
    parts = [row[row > 0] / row.sum() for row in weighted]
    num_words = np.mean([max(1 / (part**2).sum(), 1) if len(part) else 1 for part in parts])
    prior = np.cov(vectors, rowvar=False, aweights=weights, ddof=0).diagonal() / num_words
    spread = np.sqrt(means.var(axis=0) + module.PRIOR_VARIANCE * prior)
    means = (means - means.mean(axis=0)) / spread / np.sqrt(3) * module.VECTOR_SCALE * vector_factor
    tfidf = compute_tfidf(counts, compute_inverse_document_frequency(counts), STARTS)
    scale = np.sqrt(np.abs(compute_log_count_ratios((tfidf > 0).astype(float), of_row, [1])[0]))
    features = np.concatenate([(tfidf @ sparse.diags(scale)).toarray(), means], axis=1)
    svm = LinearSVC(C=start.choice.cost, random_state=0).fit(features, of_row)
    expected = svm.decision_function(features) / 2
    factor = (found[:, 1] / expected).mean()
    np.testing.assert_allclose(found[:, 1], factor * expected, atol=0.03)
    np.testing.assert_allclose(found[:, 0], -found[:, 1], atol=1e-5)
    table.mean_weights.zero_()
    added = np.abs(layer(*ids_of(counts), table).detach().numpy() - found).max()
    assert added > 0.1 if vector_factor else added == 0


def test_texts_of_one_form_leave_a_spread() -> None:
    vectors, weights = np.random.default_rng(0).normal(size=(6, 4)), np.ones(6)
    counts = sparse.csr_matrix(np.tile([[1, 1, 0, 0, 2, 0]], (5, 1)))
    words = PooledWords(vectors, weights)
    spread = words.compute_spread(counts, words.compute_means(counts))
    # The mean of 16 / 6 words varies by the variance of a word divided by so many.
    np.testing.assert_allclose(spread**2, module.PRIOR_VARIANCE * vectors.var(axis=0) * 6 / 16, rtol=1e-6)
    nothing = words.compute_spread(counts * 0, np.zeros((5, 4)))
    assert np.isfinite(nothing).all()
    assert (nothing > 0).all()


def test_what_each_word_adds_by_its_vector_adds_up() -> None:
    torch.manual_seed(0)
    layer = LinearTextScores(20, 3, list(STARTS), num_rows=0, width=4).double()
    table = PretrainedEmbedding(8, 4, trained_rows=8).double()
    vectors = torch.randint(-127, 128, (8, 4), dtype=torch.int8)
    vector_weight, weights = torch.randn(4, 3, dtype=torch.float64), torch.rand(8, dtype=torch.float64)
    weights[0] = 0.0
    table.init_from_vectors(vectors, torch.rand(4), torch.randn(8, 4), weights)
    empty, bias = torch.zeros(0), torch.randn(3, dtype=torch.float64)
    layer.init_from_linear_classifier(torch.zeros(0, dtype=torch.long), empty, torch.zeros(0, 3), bias, vector_weight)
    ids = torch.tensor([[3, 5, 3, 13, 19], [15, 0, 0, 0, 0]])
    added = layer.position_contributions(ids, ids > 0, table)
    words = [3, 5, 3]
    mean = sum(weights[word] * vectors[word].double() * table.scales for word in words) / weights[words].sum()
    torch.testing.assert_close(added.sum(dim=1), torch.stack([mean @ vector_weight, torch.zeros(3).double()]))
    assert added[0, 3:].abs().max() == 0  # n-grams have no vector
    torch.testing.assert_close(layer(ids, ids > 0, table), added.sum(dim=1) + bias)


def test_groups_have_length_one_and_unknown_ids_count_for_nothing() -> None:
    counts, of_row = texts(30, 2)
    features = compute_tfidf(counts, compute_inverse_document_frequency(counts), STARTS).toarray()
    lengths = np.stack([np.linalg.norm(features[:, :12], axis=1), np.linalg.norm(features[:, 12:], axis=1)])
    assert np.all(np.isclose(lengths, 1) | (lengths == 0))
    assert fit_wide_part(counts, of_row, 2, STARTS, seed=0).ids.tolist() == list(
        range(1, 19)
    )  # 0 and 19 are in no text


def test_the_matrix_is_the_same_whatever_the_number_of_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, _ = texts(30, 2)
    counts = sparse.vstack([counts, sparse.csr_matrix((2, 20), dtype=counts.dtype)]).tocsr()  # two texts without an id
    idf = compute_inverse_document_frequency(counts)
    whole = compute_tfidf(counts, idf, STARTS).toarray()
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 7)
    np.testing.assert_array_equal(compute_tfidf(counts, idf, STARTS).toarray(), whole)
    assert not whole[-2:].any()


def test_scores_are_log_odds_of_texts_that_were_held_out() -> None:
    counts, of_row = texts(600, 2)
    start = fit_wide_part(counts[:400], of_row[:400], 2, STARTS, seed=0)
    features = compute_tfidf(
        counts[400:, start.ids.numpy()], start.inverse_document_frequency.double().numpy(), (0, 11)
    )
    scores = features @ start.weight.double().numpy() + start.bias.double().numpy()

    def cross_entropy(factor: float) -> float:
        return float(-log_softmax(factor * scores, axis=1)[np.arange(200), of_row[400:]].mean())

    assert cross_entropy(1.0) < min(cross_entropy(0.4), cross_entropy(2.5))


@pytest.mark.parametrize("labels", [2, 3])
def test_rows_that_are_all_right_are_no_proof(labels: int) -> None:
    of_row = np.arange(60) % labels
    _, factor, _ = module._fit_score_scale(np.eye(labels)[of_row] * 0.2, of_row)
    probability = softmax(factor * 0.2 * np.eye(labels)[0])[0]
    np.testing.assert_allclose(probability, 61 / (60 + labels), atol=1e-4)


def test_a_class_without_a_row_never_wins() -> None:
    counts, of_row = texts(40, 2)
    start = fit_wide_part(counts, of_row, 4, STARTS, seed=0)
    features = compute_tfidf(counts, compute_inverse_document_frequency(counts), STARTS)[:, start.ids.numpy()]
    scores = features @ start.weight.numpy() + start.bias.numpy()
    assert set(scores.argmax(axis=1)) <= {0, 1}


def test_few_rows_are_enough() -> None:
    counts, _ = texts(5, 2)
    start = fit_wide_part(counts, np.array([0, 1, 2, 3, 4]), 5, STARTS, seed=0)
    assert start.choice.cost == 1.0  # no fold can be held out
    assert fit_wide_part(counts, np.array([0, 0, 0, 0, 1]), 2, STARTS, seed=0).weight.isfinite().all()


def test_a_later_fit_keeps_what_the_first_chose() -> None:
    counts, of_row = texts(60, 2)
    choice = WideChoice(cost=0.25, factor=2.0)
    twice = fit_wide_part(counts, of_row, 2, STARTS, seed=0, choice=replace(choice, factor=4.0))
    once = fit_wide_part(counts, of_row, 2, STARTS, seed=0, choice=choice)
    assert once.choice == choice
    torch.testing.assert_close(twice.weight, 2 * once.weight)
    torch.testing.assert_close(twice.bias, 2 * once.bias)


def test_one_label_is_refused() -> None:
    counts, _ = texts(5, 2)
    with pytest.raises(ValueError, match=r"every training row has the label \[1\]; a classifier needs two or more"):
        fit_wide_part(counts, np.ones(5, np.int64), 2, STARTS, seed=0)


def test_c_is_chosen_on_at_most_so_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS_TO_CHOOSE", 50)
    seen: list[int] = []
    fit = module._fit_each_label

    def counted(features: object, labels: np.ndarray, **options: object) -> object:
        seen.append(len(labels))
        return fit(features, labels, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_fit_each_label", counted)
    counts, of_row = texts(90, 2)
    fit_wide_part(counts, of_row, 2, STARTS, seed=0)
    assert seen[-1] == 90
    assert max(seen[:-1]) < 50
