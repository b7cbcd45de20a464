"""Baselines that count: what is popular, what the session had, what stands beside its last item, what follows that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from ctxzoo.data.notices import count_of
from ctxzoo.runs.counted import CountedRun, SimpleModel
from ctxzoo.tasks.sequences.task import EventScores, SequenceScores, SessionScores, with_unknown_targets
from ctxzoo.training.remaining_time import RemainingTime

MANY_SEQUENCES = 10_000  # from which the time that their scores take is told

Items = npt.NDArray[np.int64]  # (T,) a sequence of items from 1
Scores = npt.NDArray[np.float64]  # (num_items + 1,) of all items; that of padding is below all

# Each baseline is a function of training sequences and their number of items, and returns one of a history.
Scorer = Callable[[Items], Scores]
Baseline = Callable[[Sequence[Items], int], Scorer]


def popularity(sequences: Sequence[Items], num_items: int) -> Scores:
    """Return how often each item stands in training sequences, below 1 in sum; -1 for padding.

    Added to whole counts it orders those that tie, and no others.
    """
    counts = np.bincount(np.concatenate(sequences), minlength=num_items + 1).astype(np.float64)
    found: Scores = counts / (counts.sum() + 1)
    found[0] = -1
    return found


def pop(sequences: Sequence[Items], num_items: int) -> Scorer:
    """POP: how often an item stands in training sequences."""
    popular = popularity(sequences, num_items)
    return lambda history: popular


def session_pop(sequences: Sequence[Items], num_items: int) -> Scorer:
    """S-POP: how often an item stands in the session so far; ties by popularity."""
    popular = popularity(sequences, num_items)
    return lambda history: popular + np.bincount(history, minlength=num_items + 1)


def item_knn(sequences: Sequence[Items], num_items: int) -> Scorer:
    """Item-kNN: cosine of the training sequences with an item and those with the last one; ties by popularity.

    An item has no neighbour in itself (Hidasi et al. 2016).
    """
    popular = popularity(sequences, num_items)
    sets = [np.unique(sequence) for sequence in sequences]
    number = np.maximum(np.bincount(np.concatenate(sets), minlength=num_items + 1), 1)
    together = _pair_counts(num_items, [(np.repeat(one, len(one)), np.tile(one, len(one))) for one in sets])
    first, second = together.nonzero()
    together.data[first == second] = 0
    together.data /= np.sqrt(number[first] * number[second])
    least = together.data[together.data > 0].min(initial=1.0)  # popularity must not turn two that differ round
    return lambda history: together[history[-1]].toarray()[0] + 1e-6 * least * popular


def markov(sequences: Sequence[Items], num_items: int) -> Scorer:
    """First-order Markov chain: how often an item followed the last one in training; ties by popularity."""
    popular = popularity(sequences, num_items)
    followed = _pair_counts(num_items, [(sequence[:-1], sequence[1:]) for sequence in sequences])
    return lambda history: popular + followed[history[-1]].toarray()[0]


def _pair_counts(num_items: int, pairs: Sequence[tuple[Items, Items]]) -> sparse.csr_matrix:
    """Return (num_items + 1, num_items + 1) how often each pair is there; of many items most have none."""
    first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
    shape = (num_items + 1, num_items + 1)
    return sparse.csr_matrix((np.ones(len(first)), (first, second)), shape=shape)


NUMBERS_OF_ITEMS = ("pop", "session_pop")  # which hold a number for each item, the others one for each pair
SESSION_BASELINES: Mapping[str, Baseline] = MappingProxyType(
    {"pop": pop, "session_pop": session_pop, "item_knn": item_knn, "markov": markov}
)
EVENT_BASELINES: Mapping[str, Baseline] = MappingProxyType({"pop": pop, "markov": markov})


def score_baseline(
    scorer: Scorer, sequences: Sequence[Items], scores: SequenceScores, remaining: RemainingTime | None = None
) -> dict[str, float]:
    """Return scores over all predictions of sequences, but for nats, which counts have not.

    Args:
        scorer: Function from a history, an array (T,) of T item ids, to the scores of all items.
        sequences: Sequences to score, each an array of two or more item ids in order; every item but the first is
            predicted.
        scores: Metrics object that accumulates the predictions, still empty.
        remaining: Reporter of the estimated remaining time; None: nothing is reported.
    """
    for done, sequence in enumerate(sequences, start=1):
        if remaining is not None:
            remaining.tell(done, len(sequences))
        predictions = np.stack([scorer(sequence[:step]) for step in range(1, len(sequence))])
        scores.update(torch.from_numpy(predictions), torch.from_numpy(sequence[1:]))
    return {name: value for name, value in scores.compute().items() if name != "nll"}


@dataclass(frozen=True)
class CountedSessions(CountedRun):
    """One of `SESSION_BASELINES`; see `CountedRun`."""

    reads = ("max_length",)
    columns = ("user_column", "item_column", "time_column")
    goes_on = True
    baselines: ClassVar[Mapping[str, Baseline]] = SESSION_BASELINES
    scores_class: ClassVar[type[SequenceScores]] = SessionScores

    @property
    def unknown_are_misses(self) -> bool:
        """Whether targets that it cannot name count, see `with_unknown_targets`.

        They do in rows of a user's own; else the scores are means over the known ones, as published results have it.
        """
        return bool(self.experiment.data.rows)

    def further_settings(self) -> Mapping[str, Any]:
        return {"unknown_are_misses": True} if self.unknown_are_misses else {}

    def fit(self, data: Any) -> SimpleModel:
        variant, num_items = self.experiment.model.variant, len(data.names)
        scorer = self.baselines[variant](data.ids("train"), num_items)
        numbers = num_items ** (1 if variant in NUMBERS_OF_ITEMS else 2)

        def scores_of(split: str) -> dict[str, float]:
            ids = data.ids(split)
            what = f"{variant}, scored on {count_of(len(ids), data.kind.several)}"
            remaining = RemainingTime(what, data.kind.several) if len(ids) >= MANY_SEQUENCES else None
            scores = score_baseline(scorer, ids, self.scores_class(), remaining)
            if not self.unknown_are_misses:
                return scores
            return with_unknown_targets(scores, data.targets[split], data.unknown_targets[split])

        return SimpleModel(numbers, scores_of)


@dataclass(frozen=True)
class CountedEvents(CountedSessions):
    """One of `EVENT_BASELINES`; see `CountedRun`."""

    baselines = EVENT_BASELINES
    scores_class = EventScores
