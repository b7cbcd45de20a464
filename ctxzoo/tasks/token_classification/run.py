"""One training of a tagger of the zoo from its start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.train import ClassificationRun
from ctxzoo.tasks.token_classification.card import CARD
from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
from ctxzoo.tasks.token_classification.task import TokenClassificationTask
from ctxzoo.training.task import ZooTask
from ctxzoo.word_vectors.vocabulary import set_word_vectors


@dataclass(frozen=True, kw_only=True)
class TaggerRun(ClassificationRun):
    """All that decides one training; see `TrainingRun` and `ZooRun`."""

    data_class: ClassVar[Any] = TokenClassificationDataModule
    task_class: ClassVar[type[ZooTask]] = TokenClassificationTask
    card: ClassVar[TaskCard] = CARD

    def build_task(self, data: TokenClassificationDataModule, processes: int) -> TokenClassificationTask:
        task = TokenClassificationTask(model_config=self.model_config(data), **self.task)
        set_word_vectors(task.model, data.vector_table())
        return task
