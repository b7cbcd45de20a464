"""A hidden Markov model over word vectors: every state emits around a mean of its own, all with one fixed variance.

The model of Lin, Ammar, Dyer and Levin (2015), with spherical covariance: emissions N(mu_s, sigma^2 I). Start and
transition probabilities and means are trained by expectation maximisation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ctxzoo.tasks.word_embeddings.hidden_markov import (
    Float64Array,
    Ints,
    PackedSequences,
    find_viterbi_paths,
    pack_sequences,
    run_forward_backward,
)

MAX_ITERATIONS = 50
TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False)
class VectorSequences:
    """Sequences of words with a vector each; a word that occurs often is held once.

    Attributes:
        vectors: (types, d) finite vector, of dimension d, of each distinct word.
        words: (tokens,) row in `vectors` of each token, in text order.
        lengths: Number of tokens of each sequence, in text order.

    Raises:
        ValueError: no token, lengths that are not those of `words`, a row that `vectors` lacks, a vector that is not
            finite.
    """

    vectors: Float64Array
    words: Ints
    lengths: Sequence[int]

    def __post_init__(self) -> None:
        if not len(self.words):
            raise ValueError("the sequences have no token; expected one or more")
        if sum(self.lengths) != len(self.words):
            raise ValueError(f"lengths sum to {sum(self.lengths)}, expected {len(self.words)}, the number of tokens")
        if self.words.min() < 0 or self.words.max() >= len(self.vectors):
            raise ValueError(
                f"words are rows {self.words.min()} to {self.words.max()}, expected 0 to {len(self.vectors) - 1}"
            )
        if not np.isfinite(self.vectors).all():
            row = int(np.flatnonzero(~np.isfinite(self.vectors).all(axis=1))[0])
            raise ValueError(f"vector {row} is not finite; leave it out or train it again")

    @cached_property
    def counts(self) -> Ints:
        """The number of occurrences of each type, (types,)."""
        return np.bincount(self.words, minlength=len(self.vectors))

    @cached_property
    def packs(self) -> list[_Pack]:
        """The sequences in packs of like length, as the model reads them."""
        return [_Pack.from_sequences(packed, self.words, len(self.vectors)) for packed in pack_sequences(self.lengths)]


@dataclass(frozen=True, eq=False)
class _Pack:
    """A pack of sequences: their order, their words in this order, and (types, tokens) which token is of a type."""

    packed: PackedSequences
    words: Ints
    of_type: sparse.csr_matrix

    @classmethod
    def from_sequences(cls, packed: PackedSequences, words: Ints, num_types: int) -> _Pack:
        """Build a pack from packed sequences and the type of each token (tokens,)."""
        own = words[packed.positions]
        tokens = np.arange(len(own))
        return cls(packed, own, sparse.csr_matrix((np.ones(len(own)), (own, tokens)), shape=(num_types, len(own))))


@dataclass(frozen=True, eq=False)
class GaussianHmm:
    """A hidden Markov model with K states and normal emissions.

    Attributes:
        start: (K,) probability of each of K states at the start of a sequence.
        transitions: (K, K) transition probabilities, from state (row) to state (column); rows sum to 1.
        means: (K, d) mean vector, of dimension d, of the Gaussian emission of each of K states.
        variance: Variance of every component of a vector, the same in all states.
    """

    start: Float64Array
    transitions: Float64Array
    means: Float64Array
    variance: float

    def compute_log_emissions(self, vectors: Float64Array) -> Float64Array:
        """Return the log densities (types, K) of vectors in each state."""
        squares = (vectors**2).sum(axis=1)[:, None] - 2 * vectors @ self.means.T + (self.means**2).sum(axis=1)
        scale: float = 0.5 * vectors.shape[1] * math.log(2 * math.pi * self.variance)
        densities: Float64Array = squares / (-2 * self.variance) - scale
        return densities

    def find_viterbi_states(self, sequences: VectorSequences) -> Ints:
        """Return the state of each token on its sequence's most probable path (tokens,), in text order."""
        emissions = self.compute_log_emissions(sequences.vectors)
        states = np.empty(len(sequences.words), np.int64)
        for pack in sequences.packs:
            states[pack.packed.positions] = find_viterbi_paths(
                self.start, self.transitions, emissions, pack.words, pack.packed
            )
        return states


@dataclass(frozen=True, eq=False)
class FittedHmm:
    """A model after training.

    Attributes:
        model: Hidden Markov model with the parameters after the last iteration.
        log_likelihoods: Log-likelihood of the data before the first iteration and after each one, in nats.
    """

    model: GaussianHmm
    log_likelihoods: list[float]


def fit_gaussian_hmm(
    sequences: VectorSequences,
    num_states: int,
    *,
    variance: float,
    seed: int,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> FittedHmm:
    """Fit a Gaussian hidden Markov model to all sequences by expectation maximisation.

    Means start at the vectors of words drawn as tokens are, each word once, since states with one mean would stay
    alike; start and transition probabilities start uniform. A state that no token comes to keeps its parameters.

    Args:
        sequences: Sequences of word vectors to train on.
        num_states: Number K of hidden states, 1 or more.
        variance: Fixed variance of the Gaussian emissions, above 0.
        seed: Seed of the random draw.
        max_iterations: Largest number of EM iterations.
        tolerance: Relative gain of the log-likelihood below which training stops.

    Raises:
        ValueError: `num_states` below 1 or above the number of word types that occur; `variance` not above 0.
    """
    occurring = int(np.count_nonzero(sequences.counts))
    if not 1 <= num_states <= occurring:
        raise ValueError(f"states is {num_states}; expected 1 to {occurring}, the number of different words")
    if not variance > 0:
        raise ValueError(f"variance is {variance}; expected a number above 0")
    model = _init_hmm(sequences, num_states, variance, seed)
    history: list[float] = []
    while True:
        log_likelihood, updated = _run_em_step(model, sequences)
        history.append(log_likelihood)
        gained = len(history) < 2 or history[-1] - history[-2] >= tolerance * abs(history[-2])
        if not gained or len(history) > max_iterations:
            return FittedHmm(model, history)
        model = updated


def _init_hmm(sequences: VectorSequences, num_states: int, variance: float, seed: int) -> GaussianHmm:
    """Return a Gaussian hidden Markov model to start from: equal transitions, means at drawn words' vectors."""
    frequencies = sequences.counts / len(sequences.words)
    drawn = np.random.default_rng(seed).choice(len(frequencies), size=num_states, replace=False, p=frequencies)
    uniform = np.full((num_states, num_states), 1 / num_states)
    return GaussianHmm(uniform[0], uniform, sequences.vectors[drawn], variance)


def _run_em_step(model: GaussianHmm, sequences: VectorSequences) -> tuple[float, GaussianHmm]:
    """Return a model's log-likelihood, and the model after one step of expectation maximisation."""
    emissions = model.compute_log_emissions(sequences.vectors)
    log_likelihood = 0.0
    first, pairs = np.zeros_like(model.start), np.zeros_like(model.transitions)
    by_type = np.zeros_like(emissions)
    for pack in sequences.packs:
        expectations = run_forward_backward(model.start, model.transitions, emissions, pack.words, pack.packed)
        log_likelihood += expectations.log_likelihood
        first += expectations.first
        pairs += expectations.pairs
        by_type += pack.of_type @ expectations.posteriors
    return log_likelihood, GaussianHmm(
        start=first / first.sum(),
        transitions=_divide_rows(pairs, pairs.sum(axis=1), model.transitions),
        means=_divide_rows(by_type.T @ sequences.vectors, by_type.sum(axis=0), model.means),
        variance=model.variance,
    )


def _divide_rows(sums: Float64Array, totals: Float64Array, fallback_rows: Float64Array) -> Float64Array:
    """Return the rows of `sums` divided by their totals; where a total is 0, the row of `fallback_rows`."""
    found: npt.NDArray[np.bool_] = totals > 0
    return np.where(found[:, None], sums / np.where(found, totals, 1.0)[:, None], fallback_rows)
