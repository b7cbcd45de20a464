"""First-order hidden Markov models with given emission densities: expectations and best paths, of packed sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MOST_TOKENS = 1 << 15  # of a pack, which bounds the memory of what is kept for each token


@dataclass(frozen=True, eq=False)
class PackedSequences:
    """Some sequences, the longest first, so that the first rows of a step are those that go on to the next.

    Attributes:
        positions: (tokens,) position of each packed token in the running text of all sequences.
        steps: Range of packed tokens at each time step, one token for each sequence that is long enough, in constant
            order.
    """

    positions: npt.NDArray[np.int64]
    steps: tuple[slice, ...]


def pack_sequences(lengths: Sequence[int], max_tokens: int = MOST_TOKENS) -> Iterator[PackedSequences]:
    """Group sequences of like length into packs that are processed at once.

    Args:
        lengths: Number of tokens of each sequence, in text order; empty sequences are left out.
        max_tokens: Largest number of tokens in a pack; a longer sequence gets its own pack.
    """
    sizes = np.asarray(lengths, np.int64)
    begins = np.cumsum(sizes) - sizes
    pack: list[int] = []
    tokens = 0
    for sequence in np.argsort(-sizes, kind="stable").tolist():
        size = int(sizes[sequence])
        if pack and (size == 0 or tokens + size > max_tokens):
            yield _pack_longest_first(begins[pack], sizes[pack])
            pack, tokens = [], 0
        if size == 0:
            return
        pack.append(sequence)
        tokens += size
    if pack:
        yield _pack_longest_first(begins[pack], sizes[pack])


def _pack_longest_first(begins: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> PackedSequences:
    """Divide sequences into packs, from the longest to the shortest."""
    going_on = [int(np.count_nonzero(sizes > step)) for step in range(int(sizes[0]))]
    ends = np.cumsum(going_on).tolist()
    steps = tuple(slice(end - count, end) for count, end in zip(going_on, ends, strict=True))
    positions = np.concatenate([begins[:count] + step for step, count in enumerate(going_on)])
    return PackedSequences(positions, steps)


Float64Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# A sum of products below this may have lost states to underflow; it is computed again in logarithms.
_LOST = 1e-200
_SMALLEST = 1e-300  # divides where a predicted probability is 0


@dataclass(frozen=True, eq=False)
class Expectations:
    """Sums over sequences under the posterior of the states.

    Attributes:
        log_likelihood: Log-likelihood of the sequences, in nats.
        first: (K,) expected number of sequences that start in each of K states.
        pairs: (K, K) expected number of transitions from each state (row) to each state (column).
        posteriors: (tokens, K) posterior probability of each of K states at each token, given its whole sequence.
    """

    log_likelihood: float
    first: Float64Array
    pairs: Float64Array
    posteriors: Float64Array


def run_forward_backward(
    start: Float64Array, transitions: Float64Array, log_emissions: Float64Array, words: Ints, packed: PackedSequences
) -> Expectations:
    """Compute the state probabilities of each token by the forward-backward algorithm, over a pack at once.

    The backward pass works on posteriors, p(s_t = i | all) = p(s_t = i | to t) sum_j A_ij p(s_t+1 = j | all) /
    p(s_t+1 = j | to t), and so needs no emissions.

    Args:
        start: (K,) probability of each of K states at the start of a sequence.
        transitions: (K, K) transition probabilities, from state (row) to state (column); rows sum to 1.
        log_emissions: (types, K) finite log density of each word type in each of K states.
        words: (tokens,) word type of each packed token.
        packed: Sequences in packed order, from `pack_sequences`.
    """
    highest = log_emissions.max(axis=1)
    scaled = np.exp(log_emissions - highest[:, None])[words]
    predicted = np.empty_like(scaled)
    posteriors = np.empty_like(scaled)  # of the tokens so far, until the backward pass
    log_likelihood = float(highest[words].sum())
    before = slice(0, 0)
    for number, step in enumerate(packed.steps):
        count = step.stop - step.start
        if number == 0:
            predicted[step] = start
        else:
            np.matmul(posteriors[before.start : before.start + count], transitions, out=predicted[step])
        joint = predicted[step] * scaled[step]
        total = joint.sum(axis=1)
        lost = np.flatnonzero(total < _LOST)
        if len(lost):
            rows = words[step][lost]
            with np.errstate(divide="ignore"):  # a state that cannot be reached
                logs = np.log(predicted[step][lost]) + log_emissions[rows] - highest[rows][:, None]
            top = logs.max(axis=1)
            joint[lost] = np.exp(logs - top[:, None])
            total[lost] = joint[lost].sum(axis=1)
            log_likelihood += float(top.sum())
        np.divide(joint, total[:, None], out=posteriors[step])
        log_likelihood += float(np.log(total).sum())
        before = step

    pairs = np.zeros_like(transitions)
    for before, step in zip(packed.steps[-2::-1], packed.steps[:0:-1], strict=True):
        ratio = posteriors[step] / np.maximum(predicted[step], _SMALLEST)
        going_on = posteriors[before.start : before.start + step.stop - step.start]
        pairs += going_on.T @ ratio
        going_on *= ratio @ transitions.T
    return Expectations(log_likelihood, posteriors[packed.steps[0]].sum(axis=0), pairs * transitions, posteriors)


def find_viterbi_paths(
    start: Float64Array, transitions: Float64Array, log_emissions: Float64Array, words: Ints, packed: PackedSequences
) -> Ints:
    """Return the states on each sequence's most probable path (tokens,), by the Viterbi algorithm.

    Of equally probable paths it is the one with the lowest states.

    Args:
        start, transitions, log_emissions, words, packed: Parameters of the hidden Markov model, word types and packed
            sequences, as in `run_forward_backward`.
    """
    with np.errstate(divide="ignore"):
        log_start, log_transitions = np.log(start), np.log(transitions)
    scores = np.empty((0, len(start)))
    came_from: list[Ints] = []
    last_states = np.empty(len(words), np.int64)  # of paths that end at a token
    for number, step in enumerate(packed.steps):
        count = step.stop - step.start
        emitted = log_emissions[words[step]]
        if number == 0:
            scores = log_start + emitted
        else:
            best = np.empty((count, len(start)), np.int64)
            reached = np.empty((count, len(start)))
            rows = np.arange(count)
            for state in range(len(start)):
                ways = scores[:count] + log_transitions[:, state]
                best[:, state] = ways.argmax(axis=1)
                reached[:, state] = ways[rows, best[:, state]]
            came_from.append(best)
            scores = reached + emitted
        last_states[step] = scores.argmax(axis=1)
    for before, step, best in zip(packed.steps[-2::-1], packed.steps[:0:-1], reversed(came_from), strict=True):
        count = step.stop - step.start
        last_states[before.start : before.start + count] = best[np.arange(count), last_states[step]]
    return last_states
