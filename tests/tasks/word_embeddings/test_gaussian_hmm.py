"""The Gaussian hidden Markov model: its densities, its updates, what it learns and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics import v_measure_score

from ctxzoo.tasks.word_embeddings import gaussian_hmm
from ctxzoo.tasks.word_embeddings.gaussian_hmm import GaussianHmm, VectorSequences, fit_gaussian_hmm
from ctxzoo.tasks.word_embeddings.hidden_markov import run_forward_backward


def drawn(sentences: int = 60, dim: int = 3, seed: int = 0) -> tuple[VectorSequences, np.ndarray]:
    """Vectors around three far means that follow each other in turn mostly, and the means' numbers."""
    generator = np.random.default_rng(seed)
    means = 6 * np.eye(3, dim)
    lengths = generator.integers(1, 9, sentences).tolist()
    states = []
    for length in lengths:
        state = int(generator.integers(3))
        for _ in range(length):
            states.append(state)
            state = (state + 1) % 3 if generator.random() < 0.8 else int(generator.integers(3))
    vectors = means[states] + 0.6 * generator.standard_normal((len(states), dim))
    # Some words occur twice.
    words = np.arange(len(states))
    words[-5:] = words[:5]
    gold = np.array(states)
    gold[-5:] = gold[:5]
    return VectorSequences(vectors, words, lengths), gold


def test_densities_are_those_of_scipy() -> None:
    generator = np.random.default_rng(0)
    means, vectors = generator.standard_normal((2, 4)), generator.standard_normal((5, 4))
    model = GaussianHmm(np.full(2, 0.5), np.full((2, 2), 0.5), means, 0.3)
    expected = [[multivariate_normal(mean, 0.3 * np.eye(4)).logpdf(vector) for mean in means] for vector in vectors]
    np.testing.assert_allclose(model.compute_log_emissions(vectors), expected, rtol=1e-12)


def test_one_update_is_the_sum_over_tokens() -> None:
    sequences, _ = drawn(12)
    fitted = fit_gaussian_hmm(sequences, 3, variance=0.5, seed=0, max_iterations=1)
    model = gaussian_hmm._init_hmm(sequences, 3, 0.5, 0)
    emissions = model.compute_log_emissions(sequences.vectors)
    sums, totals = np.zeros((3, 3)), np.zeros(3)
    pairs, first = np.zeros((3, 3)), np.zeros(3)
    for pack in sequences.packs:
        found = run_forward_backward(model.start, model.transitions, emissions, pack.words, pack.packed)
        pairs, first = pairs + found.pairs, first + found.first
        for token, word in enumerate(pack.words):
            for state in range(3):
                sums[state] += found.posteriors[token, state] * sequences.vectors[word]
                totals[state] += found.posteriors[token, state]
    np.testing.assert_allclose(fitted.model.means, sums / totals[:, None], rtol=1e-9)
    np.testing.assert_allclose(fitted.model.transitions, pairs / pairs.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(fitted.model.start, first / first.sum(), rtol=1e-9)
    assert len(fitted.log_likelihoods) == 2


@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_never_falls(seed: int) -> None:
    sequences, _ = drawn()
    fitted = fit_gaussian_hmm(sequences, 5, variance=0.45, seed=seed, tolerance=0.0)
    gains = np.diff(fitted.log_likelihoods)
    assert len(gains) > 3
    assert (gains >= -1e-9 * abs(fitted.log_likelihoods[0])).all()


def test_it_stops_at_the_limit_and_where_little_is_gained() -> None:
    sequences, _ = drawn()
    assert len(fit_gaussian_hmm(sequences, 5, variance=0.45, seed=0, max_iterations=3).log_likelihoods) == 4
    history = fit_gaussian_hmm(sequences, 5, variance=0.45, seed=0, tolerance=1e-3).log_likelihoods
    gains = np.diff(history) / np.abs(history[:-1])
    assert (gains[:-1] >= 1e-3).all()
    assert gains[-1] < 1e-3


def test_it_finds_the_states_that_drew_the_vectors() -> None:
    sequences, gold = drawn()
    fits = [fit_gaussian_hmm(sequences, 3, variance=0.45, seed=seed) for seed in range(5)]
    best = max(fits, key=lambda fit: fit.log_likelihoods[-1])
    assert v_measure_score(gold, best.model.find_viterbi_states(sequences)) == pytest.approx(1.0)


def test_one_seed_gives_one_model_and_packs_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    sequences, _ = drawn()
    first, again, other = (fit_gaussian_hmm(sequences, 4, variance=0.45, seed=seed) for seed in (0, 0, 1))
    assert first.log_likelihoods == again.log_likelihoods != other.log_likelihoods
    pack_sequences = gaussian_hmm.pack_sequences
    monkeypatch.setattr(gaussian_hmm, "pack_sequences", lambda lengths: pack_sequences(lengths, 10))
    packed = VectorSequences(sequences.vectors, sequences.words, sequences.lengths)
    assert len(packed.packs) > 3
    several = fit_gaussian_hmm(packed, 4, variance=0.45, seed=0)
    np.testing.assert_allclose(several.log_likelihoods, first.log_likelihoods, rtol=1e-9)
    assert several.model.find_viterbi_states(packed).tolist() == first.model.find_viterbi_states(sequences).tolist()


def test_means_start_at_different_words_that_occur() -> None:
    vectors = np.arange(8.0).reshape(4, 2)
    sequences = VectorSequences(vectors, np.array([0] * 50 + [1, 3]), [52])
    for seed in range(20):
        means = gaussian_hmm._init_hmm(sequences, 3, 0.45, seed).means
        assert sorted(means.tolist()) == [[0, 1], [2, 3], [6, 7]]


def test_a_state_that_no_token_comes_to_keeps_its_parameters() -> None:
    vectors = np.array([[0.0], [1.0], [1e4]])
    model = GaussianHmm(np.array([0.5, 0.5]), np.full((2, 2), 0.5), np.array([[0.5], [1e4]]), 0.45)
    _, updated = gaussian_hmm._run_em_step(model, VectorSequences(vectors, np.array([0, 1, 0]), [3]))
    assert updated.means[1].tolist() == [1e4]
    assert updated.transitions[1].tolist() == [0.5, 0.5]
    assert updated.means[0, 0] == pytest.approx(1 / 3)


def test_bad_input_is_named() -> None:
    vectors, words = np.zeros((2, 3)), np.array([0, 1, 1])
    with pytest.raises(ValueError, match="no token"):
        VectorSequences(vectors, words[:0], [])
    with pytest.raises(ValueError, match="lengths sum to 2, expected 3"):
        VectorSequences(vectors, words, [2])
    with pytest.raises(ValueError, match="rows 0 to 1, expected 0 to 0"):
        VectorSequences(vectors[:1], words, [3])
    with pytest.raises(ValueError, match="vector 1 is not finite"):
        VectorSequences(np.array([[0.0], [np.nan]]), words, [3])
    sequences = VectorSequences(vectors, words, [3])
    for states in (0, 3):
        with pytest.raises(ValueError, match=f"states is {states}; expected 1 to 2"):
            fit_gaussian_hmm(sequences, states, variance=0.45, seed=0)
    with pytest.raises(ValueError, match="variance is 0"):
        fit_gaussian_hmm(sequences, 1, variance=0, seed=0)
