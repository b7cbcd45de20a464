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

from ctxzoo.data.notices import format_count
from ctxzoo.runs.counted import CountedRun, SimpleModel
from ctxzoo.tasks.sequences.task import EventScores, SequenceScores, SessionScores, add_unknown_targets
from ctxzoo.training.remaining_time import RemainingTime

MANY_SEQUENCES = 10_000  # from which the time that their scores take is told

Items = npt.NDArray[np.int64]  # (T,) a sequence of items from 1
Scores = npt.NDArray[np.float64]  # (num_items + 1,) of all items; that of padding is below all

# Each baseline is a function of training sequences and their number of items, and returns one of a history.
Scorer = Callable[[Items], Scores]
Baseline = Callable[[Sequence[Items], int], Scorer]


def compute_popularity(sequences: Sequence[Items], num_items: int) -> Scores:
    """Return for each item a number below 1 that grows with its count in training, to break ties; -1 for padding.

    Added to whole counts it orders those that tie, and no others.
    """
    counts = np.bincount(np.concatenate(sequences), minlength=num_items + 1).astype(np.float64)
    found: Scores = counts / (counts.sum() + 1)
    found[0] = -1
    return found


def build_popularity_scorer(sequences: Sequence[Items], num_items: int) -> Scorer:
    """Return a function that scores items by their count in training (POP), whatever the session."""
    popular = compute_popularity(sequences, num_items)
    return lambda history: popular


def build_session_popularity_scorer(sequences: Sequence[Items], num_items: int) -> Scorer:
    """Return a function that scores items by their count in the session so far (S-POP); ties by popularity."""
    popular = compute_popularity(sequences, num_items)
    return lambda history: popular + np.bincount(history, minlength=num_items + 1)


def build_item_knn_scorer(sequences: Sequence[Items], num_items: int) -> Scorer:
    """Return a function that scores items by cosine to the last item over training sequences (item-kNN).

    Ties are broken by popularity. An item has no neighbour in itself (Hidasi et al. 2016).
    """
    popular = compute_popularity(sequences, num_items)
    sets = [np.unique(sequence) for sequence in sequences]
    number = np.maximum(np.bincount(np.concatenate(sets), minlength=num_items + 1), 1)
    together = _count_pairs(num_items, [(np.repeat(one, len(one)), np.tile(one, len(one))) for one in sets])
    first, second = together.nonzero()
    together.data[first == second] = 0
    together.data /= np.sqrt(number[first] * number[second])
    least = together.data[together.data > 0].min(initial=1.0)  # popularity must not turn two that differ round
    return lambda history: together[history[-1]].toarray()[0] + 1e-6 * least * popular


def build_markov_scorer(sequences: Sequence[Items], num_items: int) -> Scorer:
    """Return a function that scores items by how often they followed the last one in training (Markov chain)."""
    popular = compute_popularity(sequences, num_items)
    followed = _count_pairs(num_items, [(sequence[:-1], sequence[1:]) for sequence in sequences])
    return lambda history: popular + followed[history[-1]].toarray()[0]


def _count_pairs(num_items: int, pairs: Sequence[tuple[Items, Items]]) -> sparse.csr_matrix:
    """Return a sparse matrix (num_items + 1, num_items + 1) of how often each pair of items occurs."""
    first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
    shape = (num_items + 1, num_items + 1)
    return sparse.csr_matrix((np.ones(len(first)), (first, second)), shape=shape)


NUMBERS_OF_ITEMS = ("pop", "session_pop")  # which hold a number for each item, the others one for each pair
SESSION_BASELINES: Mapping[str, Baseline] = MappingProxyType(
    {
        "pop": build_popularity_scorer,
        "session_pop": build_session_popularity_scorer,
        "item_knn": build_item_knn_scorer,
        "markov": build_markov_scorer,
    }
)
EVENT_BASELINES: Mapping[str, Baseline] = MappingProxyType(
    {name: SESSION_BASELINES[name] for name in ("pop", "markov")}
)


def score_baseline(
    scorer: Scorer,
    sequences: Sequence[Items],
    scores: SequenceScores,
    remaining: RemainingTime | None = None,
    first_targets: Sequence[int] | None = None,
) -> dict[str, float]:
    """Return the scores of a counted model over all predictions in sequences; it has no loss in nats.

    Args:
        scorer: Function from a history, an array (T,) of T item ids, to the scores of all items.
        sequences: Sequences to score, each an array of two or more item ids in order; every item but the first is
            predicted.
        scores: Metrics object that accumulates the predictions, still empty.
        remaining: Reporter of the estimated remaining time; None: nothing is reported.
        first_targets: Place of the first element of each sequence that is predicted, from 1; None: of all 1.
    """
    first_targets = first_targets or [1] * len(sequences)
    for done, (sequence, first) in enumerate(zip(sequences, first_targets, strict=True), start=1):
        if remaining is not None:
            remaining.print_if_due(done, len(sequences))
        predictions = np.stack([scorer(sequence[:step]) for step in range(first, len(sequence))])
        scores.update(torch.from_numpy(predictions), torch.from_numpy(sequence[first:]))
    return {name: value for name, value in scores.compute().items() if name != "nll"}


@dataclass(frozen=True)
class CountedSessions(CountedRun):
    """One of `SESSION_BASELINES`; see `CountedRun`."""

    reads = ("max_length", "at", "split", "min_item_count", "min_session_length")
    columns = ("user_column", "item_column", "time_column")
    goes_on = True
    baselines: ClassVar[Mapping[str, Baseline]] = SESSION_BASELINES
    scores_class: ClassVar[type[SequenceScores]] = SessionScores

    @property
    def counts_unknown_as_misses(self) -> bool:
        """Whether targets that the model cannot name count as misses, see `add_unknown_targets`.

        They do in rows of a user's own; else the scores are means over the known ones, as published results have it.
        """
        return bool(self.experiment.data.rows)

    def get_model_settings(self) -> Mapping[str, Any]:
        """Return settings of the baseline itself for the results file."""
        return {"unknown_are_misses": True} if self.counts_unknown_as_misses else {}

    def fit(self, data: Any) -> SimpleModel:
        """Count the sessions of train for the baseline of this variant."""
        variant, num_items = self.experiment.model.variant, len(data.names)
        scorer = self.baselines[variant](data.get_ids("train"), num_items)
        numbers = num_items ** (1 if variant in NUMBERS_OF_ITEMS else 2)

        def score_split(split: str) -> dict[str, float]:
            """Return the scores of the counted model on a split, with the count of unknown targets."""
            ids = data.get_ids(split)
            what = f"{variant}, scored on {format_count(len(ids), data.kind.several)}"
            remaining = RemainingTime(what, data.kind.several) if len(ids) >= MANY_SEQUENCES else None
            data_args: Any = self.experiment.data
            found = self.scores_class(at=data_args.at).keep_local()
            scores = score_baseline(scorer, ids, found, remaining, data.get_first_targets(split))
            if not self.counts_unknown_as_misses:
                return scores
            return add_unknown_targets(scores, data.targets[split], data.unknown_targets[split])

        return SimpleModel(numbers, score_split)


@dataclass(frozen=True)
class CountedEvents(CountedSessions):
    """One of `EVENT_BASELINES`; see `CountedRun`."""

    baselines = EVENT_BASELINES
    scores_class = EventScores
