"""Bars that count: what is popular, what the session had, what stands beside its last item, and what follows that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.metrics.next_item import Ties
from ctxzoo.runs.counted import CountedRun
from ctxzoo.runs.counted_sequences import Scorer, markov, pair_counts, pop, popularity, score_counted
from ctxzoo.tasks.session_recommendation.card import CARD
from ctxzoo.tasks.session_recommendation.data import Session, SessionDataModule
from ctxzoo.tasks.session_recommendation.task import SessionScores


def session_pop(sessions: Sequence[Session], num_items: int) -> Scorer:
    """S-POP: how often an item stands in the session so far; ties by popularity."""
    popular = popularity(sessions, num_items)
    return lambda history: popular + np.bincount(history, minlength=num_items + 1)


def item_knn(sessions: Sequence[Session], num_items: int) -> Scorer:
    """Item-kNN: cosine of the training sessions with an item and those with the last one; ties by popularity.

    An item has no neighbour in itself (Hidasi et al. 2016).
    """
    popular = popularity(sessions, num_items)
    sets = [np.unique(session) for session in sessions]
    together = pair_counts(num_items, [(np.repeat(one, len(one)), np.tile(one, len(one))) for one in sets])
    number = np.maximum(np.diag(together), 1)
    np.fill_diagonal(together, 0)
    cosine = together / np.sqrt(number[:, None] * number)
    least = cosine[cosine > 0].min(initial=1.0)  # popularity must not turn two that differ round
    return lambda history: cosine[history[-1]] + 1e-6 * least * popular


POP, SESSION_POP = "pop", "session_pop"  # which hold a number for each item, the others one for each pair
FLOORS: Mapping[str, Callable[[Sequence[Session], int], Scorer]] = MappingProxyType(
    {POP: pop, SESSION_POP: session_pop, "item_knn": item_knn, "markov": markov}
)


def score_floor(scorer: Scorer, sessions: Sequence[Session], ties: Ties = "pessimistic") -> dict[str, float]:
    """Return the scores of `SessionScores` over all predictions of sessions, but for nats, which counts have not."""
    return score_counted(scorer, sessions, SessionScores(ties))


@dataclass(frozen=True, kw_only=True)
class FloorRun(CountedRun):
    """One of `FLOORS`, which `variant` names; see `CountedRun`."""

    card: ClassVar[TaskCard] = CARD
    data_class: ClassVar[Any] = SessionDataModule

    def settings(self) -> Mapping[str, Any]:
        return {"max_length": self.data["max_length"]}

    def count(self, data: SessionDataModule) -> tuple[int, Callable[[str], dict[str, float]]]:
        num_items = len(data.names)
        scorer = FLOORS[self.variant](data.sequences("train"), num_items)
        numbers = num_items ** (1 if self.variant in (POP, SESSION_POP) else 2)
        return numbers, lambda split: score_floor(scorer, data.sequences(split))
