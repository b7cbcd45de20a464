"""One training of a tagger of the zoo from its start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ctxzoo.data.token_datamodule import TokenClassificationDataModule
from ctxzoo.hub.task_facts import TaskFacts
from ctxzoo.hub.task_token_classification import TOKEN_CLASSIFICATION
from ctxzoo.hub.zoo_run import ZooRun
from ctxzoo.training.token_classification_task import TokenClassificationTask


@dataclass(frozen=True, kw_only=True)
class TaggerRun(ZooRun):
    """All that decides one training; see `TrainingRun` and `ZooRun`."""

    data_class: ClassVar[Any] = TokenClassificationDataModule
    task_facts: ClassVar[TaskFacts] = TOKEN_CLASSIFICATION

    def build_task(self, data: TokenClassificationDataModule, processes: int) -> TokenClassificationTask:
        task = TokenClassificationTask(model_config=self.model_config(data), **self.task)
        task.set_word_vectors(data.vector_table())
        return task
