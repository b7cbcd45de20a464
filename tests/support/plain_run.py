"""A run that is its experiment and no work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.run import Run
from ctxzoo.tasks.text_classification.card import CARD


@dataclass(frozen=True)
class PlainRun(Run):
    card: ClassVar[TaskCard] = CARD

    experiment: Experiment

    def work(self, *, resume: bool) -> None:
        raise AssertionError("there is nothing to do")
