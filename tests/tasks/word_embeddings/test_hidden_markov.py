"""Sequences packed side by side: each token once, in an order in which a step continues the one before."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

from ctxzoo.tasks.word_embeddings.hidden_markov import find_viterbi_paths, pack_sequences, run_forward_backward


@pytest.mark.parametrize("most_tokens", [1, 7, 1000])
def test_every_token_follows_the_one_before_it(most_tokens: int) -> None:
    lengths = [3, 0, 5, 1, 3, 0, 2, 5]
    begins = np.cumsum(lengths) - lengths
    sequence_of = np.repeat(np.arange(len(lengths)), lengths)
    packs = list(pack_sequences(lengths, most_tokens))
    assert sorted(np.concatenate([pack.positions for pack in packs]).tolist()) == list(range(sum(lengths)))
    for pack in packs:
        for number, step in enumerate(pack.steps):
            positions = pack.positions[step]
            assert (positions - begins[sequence_of[positions]] == number).all()
            if number:
                before = pack.positions[pack.steps[number - 1]]
                assert (positions == before[: len(positions)] + 1).all()
    assert all(len(pack.positions) <= most_tokens or len(pack.steps) == len(pack.positions) for pack in packs)


def test_nothing_gives_no_pack() -> None:
    assert list(pack_sequences([])) == list(pack_sequences([0, 0])) == []


LENGTHS = [4, 1, 5, 2, 4]
STATES, TYPES = 3, 6


def example(spread: float, seed: int = 0) -> tuple[npt.NDArray[np.float64], ...]:
    generator = np.random.default_rng(seed)
    start = generator.dirichlet(np.ones(STATES))
    transitions = generator.dirichlet(np.ones(STATES), size=STATES)
    emissions = spread * generator.standard_normal((TYPES, STATES))
    words = generator.integers(0, TYPES, sum(LENGTHS))
    return start, transitions, emissions, words


def log_probability(
    path: tuple[int, ...],
    words: npt.NDArray[np.int64],
    start: npt.NDArray[np.float64],
    transitions: npt.NDArray[np.float64],
    emissions: npt.NDArray[np.float64],
) -> float:
    """Of a path and its words together."""
    total = -math.inf if start[path[0]] == 0 else math.log(start[path[0]])
    for before, after in itertools.pairwise(path):
        total += -math.inf if transitions[before, after] == 0 else math.log(transitions[before, after])
    return total + float(sum(emissions[word, state] for word, state in zip(words, path, strict=True)))


def enumerated(start, transitions, emissions, words):  # type: ignore[no-untyped-def]
    """Log-likelihood, expected starts and pairs, posteriors and best paths in running text, sentence by sentence."""
    log_likelihood, first, pairs = 0.0, np.zeros(STATES), np.zeros((STATES, STATES))
    posteriors, best = np.zeros((len(words), STATES)), np.zeros(len(words), int)
    begin = 0
    for length in LENGTHS:
        own = words[begin : begin + length]
        paths = list(itertools.product(range(STATES), repeat=length))
        logs = np.array([log_probability(path, own, start, transitions, emissions) for path in paths])
        top = logs.max()
        total = top + math.log(np.exp(logs - top).sum())
        log_likelihood += total
        for path, weight in zip(paths, np.exp(logs - total), strict=True):
            first[path[0]] += weight
            for place, state in enumerate(path):
                posteriors[begin + place, state] += weight
            for before, after in itertools.pairwise(path):
                pairs[before, after] += weight
        best[begin : begin + length] = paths[int(logs.argmax())]
        begin += length
    return log_likelihood, first, pairs, posteriors, best


# With a spread of 2,000 nats the densities of all but one state are 0 in float64.
@pytest.mark.parametrize("spread", [1.0, 30.0, 2000.0])
@pytest.mark.parametrize("most_tokens", [5, 1000])
def test_expectations_and_paths_are_those_of_the_enumeration(spread: float, most_tokens: int) -> None:
    start, transitions, emissions, words = example(spread)
    log_likelihood, first, pairs, posteriors, best = enumerated(start, transitions, emissions, words)
    found = {"log_likelihood": 0.0, "first": 0.0, "pairs": 0.0}
    for packed in pack_sequences(LENGTHS, most_tokens):
        one = run_forward_backward(start, transitions, emissions, words[packed.positions], packed)
        found = {name: value + getattr(one, name) for name, value in found.items()}
        np.testing.assert_allclose(one.posteriors, posteriors[packed.positions], atol=1e-10)
        states = find_viterbi_paths(start, transitions, emissions, words[packed.positions], packed)
        assert states.tolist() == best[packed.positions].tolist()
    np.testing.assert_allclose(found["log_likelihood"], log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(found["first"], first, atol=1e-10)
    np.testing.assert_allclose(found["pairs"], pairs, atol=1e-10)


def test_a_word_that_only_an_unreachable_state_would_emit_is_left_to_the_others() -> None:
    start = np.array([1.0, 0.0, 0.0])
    transitions = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    emissions = np.full((TYPES, STATES), -5000.0)
    emissions[:, 2] = 0.0
    emissions[:, 1] -= 1.0
    words = np.arange(sum(LENGTHS)) % TYPES
    log_likelihood, first, pairs, posteriors, _ = enumerated(start, transitions, emissions, words)
    (packed,) = pack_sequences(LENGTHS)
    found = run_forward_backward(start, transitions, emissions, words[packed.positions], packed)
    np.testing.assert_allclose(found.log_likelihood, log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(found.posteriors, posteriors[packed.positions], atol=1e-10)
    np.testing.assert_allclose(found.pairs, pairs, atol=1e-10)
    assert found.first.tolist() == pytest.approx(first.tolist())
    assert not find_viterbi_paths(start, transitions, emissions, words[packed.positions], packed).any()
