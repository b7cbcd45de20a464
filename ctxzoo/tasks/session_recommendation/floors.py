"""Bars that count: what is popular, what the session had, what stands beside its last item, and what follows that."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.metrics.next_item import Ties
from ctxzoo.results.result import RESULTS_DIR, write_result_file
from ctxzoo.runs.run import Run
from ctxzoo.runs.spec import RunSpec
from ctxzoo.tasks.session_recommendation.card import CARD
from ctxzoo.tasks.session_recommendation.data import Session, SessionDataModule
from ctxzoo.tasks.session_recommendation.task import SessionScores

ARCHITECTURE = "counts"
Scores = npt.NDArray[np.float64]  # (num_items + 1,) of all items; that of padding is below all

# Each floor is a function of training sessions and their number of items, and returns one of a history.
Scorer = Callable[[Session], Scores]


def popularity(sessions: Sequence[Session], num_items: int) -> Scores:
    """Return how often each item stands in training sessions, below 1 in sum; -1 for padding.

    Added to whole counts it orders those that tie, and no others.
    """
    counts = np.bincount(np.concatenate(sessions), minlength=num_items + 1).astype(np.float64)
    found: Scores = counts / (counts.sum() + 1)
    found[0] = -1
    return found


def pop(sessions: Sequence[Session], num_items: int) -> Scorer:
    """POP: how often an item stands in training sessions."""
    popular = popularity(sessions, num_items)
    return lambda history: popular


def session_pop(sessions: Sequence[Session], num_items: int) -> Scorer:
    """S-POP: how often an item stands in the session so far; ties by popularity."""
    popular = popularity(sessions, num_items)
    return lambda history: popular + np.bincount(history, minlength=num_items + 1)


def markov(sessions: Sequence[Session], num_items: int) -> Scorer:
    """First-order Markov chain: how often an item followed the last one in training sessions; ties by popularity."""
    popular = popularity(sessions, num_items)
    followed = _pairs(num_items, [(session[:-1], session[1:]) for session in sessions])
    return lambda history: popular + followed[history[-1]]


def item_knn(sessions: Sequence[Session], num_items: int) -> Scorer:
    """Item-kNN: cosine of the training sessions with an item and those with the last one; ties by popularity.

    An item has no neighbour in itself (Hidasi et al. 2016).
    """
    popular = popularity(sessions, num_items)
    sets = [np.unique(session) for session in sessions]
    together = _pairs(num_items, [(np.repeat(one, len(one)), np.tile(one, len(one))) for one in sets])
    number = np.maximum(np.diag(together), 1)
    np.fill_diagonal(together, 0)
    cosine = together / np.sqrt(number[:, None] * number)
    least = cosine[cosine > 0].min(initial=1.0)  # popularity must not turn two that differ round
    return lambda history: cosine[history[-1]] + 1e-6 * least * popular


FLOORS: Mapping[str, Callable[[Sequence[Session], int], Scorer]] = MappingProxyType(
    {"pop": pop, "session_pop": session_pop, "item_knn": item_knn, "markov": markov}
)


def _pairs(num_items: int, pairs: Sequence[tuple[Session, Session]]) -> Scores:
    """Return (num_items + 1, num_items + 1) how often each pair of items is there."""
    found = np.zeros((num_items + 1, num_items + 1))
    for first, second in pairs:
        np.add.at(found, (first, second), 1)
    return found


def score_floor(scorer: Scorer, sessions: Sequence[Session], ties: Ties = "pessimistic") -> dict[str, float]:
    """Return the scores of `SessionScores` over all predictions of sessions, but for nats, which counts have not."""
    scores = SessionScores(ties)
    for session in sessions:
        predictions = np.stack([scorer(session[:step]) for step in range(1, len(session))])
        scores.update(torch.from_numpy(predictions), torch.from_numpy(session[1:]))
    return {name: value for name, value in scores.compute().items() if name != "nll"}


@dataclass(frozen=True, kw_only=True)
class FloorRun(Run):
    """Counts in `train`, scored on `score`.

    Attributes:
        recipe, seed, commit, score, tag, results_dir: see `RunSpec`; nothing is drawn.
        variant: one of `FLOORS`.
        data: arguments of the DataModule, `dataset` among them.
    """

    card: ClassVar[TaskCard] = CARD

    recipe: str
    variant: str
    commit: str
    seed: int = 0
    data: dict[str, Any] = field(default_factory=dict)
    score: str = "test"
    tag: str = ""
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR

    @property
    def spec(self) -> RunSpec:
        return RunSpec(
            recipe=self.recipe,
            architecture=ARCHITECTURE,
            variant=self.variant,
            dataset=self.data["dataset"],
            seed=self.seed,
            commit=self.commit,
            settings={"max_length": self.data["max_length"]},
            score=self.score,
            tag=self.tag,
            output_dir=self.output_dir,
            results_dir=self.results_dir,
        )

    def work(self, *, resume: bool) -> None:
        data = SessionDataModule(**self.data)
        data.setup()
        scored = data.sessions(self.score)
        started = time.perf_counter()
        scorer = FLOORS[self.variant](data.sessions("train"), len(data.item_names))
        metrics = score_floor(scorer, scored)
        numbers = len(data.item_names) ** (1 if "pop" in self.variant else 2)
        result = self.spec.result(
            metrics={f"{self.score}/{name}": value for name, value in metrics.items()},
            parameters={"trainable": numbers, "total": numbers},
            fingerprint=data.fingerprint,
            seconds=time.perf_counter() - started,
        )
        write_result_file(result, self.spec.results_file)
