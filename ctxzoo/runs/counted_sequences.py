"""What comes next, counted in sequences of items: by popularity, and by what followed the last item."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import torch

from ctxzoo.training.next_item_scores import NextItemScores

Items = npt.NDArray[np.int64]  # (T,) a sequence of items from 1
Scores = npt.NDArray[np.float64]  # (num_items + 1,) of all items; that of padding is below all

# Each floor is a function of training sessions and their number of items, and returns one of a history.
Scorer = Callable[[Items], Scores]


def popularity(sessions: Sequence[Items], num_items: int) -> Scores:
    """Return how often each item stands in training sessions, below 1 in sum; -1 for padding.

    Added to whole counts it orders those that tie, and no others.
    """
    counts = np.bincount(np.concatenate(sessions), minlength=num_items + 1).astype(np.float64)
    found: Scores = counts / (counts.sum() + 1)
    found[0] = -1
    return found


def pop(sessions: Sequence[Items], num_items: int) -> Scorer:
    """POP: how often an item stands in training sessions."""
    popular = popularity(sessions, num_items)
    return lambda history: popular


def markov(sessions: Sequence[Items], num_items: int) -> Scorer:
    """First-order Markov chain: how often an item followed the last one in training sessions; ties by popularity."""
    popular = popularity(sessions, num_items)
    followed = pair_counts(num_items, [(session[:-1], session[1:]) for session in sessions])
    return lambda history: popular + followed[history[-1]]


def pair_counts(num_items: int, pairs: Sequence[tuple[Items, Items]]) -> Scores:
    """Return (num_items + 1, num_items + 1) how often each pair of items is there."""
    found = np.zeros((num_items + 1, num_items + 1))
    for first, second in pairs:
        np.add.at(found, (first, second), 1)
    return found


def score_counted(scorer: Scorer, sequences: Sequence[Items], scores: NextItemScores) -> dict[str, float]:
    """Return scores over all predictions of sequences, but for nats, which counts have not.

    Args:
        scorer: gives the scores of all items after a history.
        sequences: two items or more each; every item but the first is predicted.
        scores: nothing was added to them before.
    """
    for sequence in sequences:
        predictions = np.stack([scorer(sequence[:step]) for step in range(1, len(sequence))])
        scores.update(torch.from_numpy(predictions), torch.from_numpy(sequence[1:]))
    return {name: value for name, value in scores.compute().items() if name != "nll"}
