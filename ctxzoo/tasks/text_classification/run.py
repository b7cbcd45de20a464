"""One training of a classifier of texts of the zoo from its start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.train import ClassificationRun
from ctxzoo.tasks.text_classification.card import CARD
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.task import SequenceClassificationTask
from ctxzoo.training.task import ZooTask
from ctxzoo.word_vectors.vocabulary import set_word_features, set_word_vectors


@dataclass(frozen=True, kw_only=True)
class ClassifierRun(ClassificationRun):
    """All that decides one training; see `TrainingRun` and `ZooRun`.

    Attributes:
        decay: whether the learning rate falls linearly, to zero after the last step.
        naive_bayes: the model starts as naive Bayes over the training rows, with class scores that each group of
            features sets apart by so much; 0: it starts at random.
        zeroed: names of parameters of the model that are 0 at the start and are not trained.
    """

    data_class: ClassVar[Any] = TextClassificationDataModule
    task_class: ClassVar[type[ZooTask]] = SequenceClassificationTask
    card: ClassVar[TaskCard] = CARD

    decay: bool = False
    naive_bayes: float = 0.0
    zeroed: tuple[str, ...] = ()

    def build_data(self) -> TextClassificationDataModule:
        return TextClassificationDataModule.from_options(**self.data)

    def build_task(self, data: TextClassificationDataModule, processes: int) -> SequenceClassificationTask:
        task = SequenceClassificationTask(
            model_config=self.model_config(data),
            decay_steps=self._steps(data, processes) if self.decay else None,
            **self.task,
        )
        set_word_vectors(task.model, data.vector_table())
        if self.naive_bayes:
            features, weights = data.naive_bayes()
            set_word_features(task.model, features)
            task.model.start_linear(self.naive_bayes * weights)
        for name in self.zeroed:
            nn.init.zeros_(task.model.get_parameter(name)).requires_grad_(False)
        return task

    def _steps(self, data: TextClassificationDataModule, processes: int) -> int:
        """Of the whole training."""
        batches = len(data.train_dataloader()) // processes
        limit = self.trainer.limit_train_batches
        return self.trainer.epochs * (batches if limit is None else min(limit, batches))
