"""Bars that count: what is frequent, and what follows the last event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.counted import CountedRun
from ctxzoo.runs.counted_sequences import Scorer, markov, pop, score_counted
from ctxzoo.tasks.next_event.card import CARD
from ctxzoo.tasks.next_event.data import HistoryDataModule
from ctxzoo.tasks.next_event.task import EventScores

POP = "pop"  # which holds a number for each event, the other one for each pair
FLOORS: Mapping[str, Callable[[Sequence[npt.NDArray[np.int64]], int], Scorer]] = MappingProxyType(
    {POP: pop, "markov": markov}
)


@dataclass(frozen=True, kw_only=True)
class EventFloorRun(CountedRun):
    """One of `FLOORS`, which `variant` names; see `CountedRun`."""

    card: ClassVar[TaskCard] = CARD
    data_class: ClassVar[Any] = HistoryDataModule

    def settings(self) -> Mapping[str, Any]:
        return {"max_length": self.data["max_length"]}

    def count(self, data: HistoryDataModule) -> tuple[int, Callable[[str], dict[str, float]]]:
        num_events = len(data.names)
        scorer = FLOORS[self.variant]([history.events for history in data.sequences("train")], num_events)
        numbers = num_events ** (1 if self.variant == POP else 2)

        def scores(split: str) -> dict[str, float]:
            return score_counted(scorer, [history.events for history in data.sequences(split)], EventScores())

        return numbers, scores
