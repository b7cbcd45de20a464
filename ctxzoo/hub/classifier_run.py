"""One training of a classifier of the zoo from its start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning

from ctxzoo.data.text_datamodule import TextClassificationDataModule
from ctxzoo.hub.finish import finish_run
from ctxzoo.hub.training_run import TrainingRun
from ctxzoo.training.sequence_classification_task import SequenceClassificationTask, label_fields


@dataclass(frozen=True, kw_only=True)
class ClassifierRun(TrainingRun):
    """All that decides one training; see `TrainingRun`.

    Attributes:
        config: fields of the model's config with its `model_type`; sizes and labels come from the data.
        decay: whether the learning rate falls linearly, to zero after the last step.
        naive_bayes: the model starts as naive Bayes over the training rows, with class scores that each group of
            features sets apart by so much; 0: it starts at random.
        push_to: Hub repository that receives the checkpoint folder.
    """

    config: dict[str, Any]
    decay: bool = False
    naive_bayes: float = 0.0
    push_to: str | None = None

    def build_task(self, data: TextClassificationDataModule, processes: int) -> SequenceClassificationTask:
        task = SequenceClassificationTask(
            model_config={**self.config, **data.model_sizes(), **label_fields(data.label_names)},
            decay_steps=self._steps(data, processes) if self.decay else None,
            **self.task,
        )
        task.set_word_vectors(data.vector_table())
        if self.naive_bayes:
            features, weights = data.naive_bayes()
            task.set_word_features(features)
            task.model.start_linear(self.naive_bayes * weights)
        return task

    def finish(
        self,
        task: SequenceClassificationTask,
        data: TextClassificationDataModule,
        trainer: lightning.Trainer,
        scores: dict[str, dict[str, float]],
    ) -> None:
        finish_run(
            task,
            data,
            trainer,
            scores,
            folder=self.folder,
            results_dir=Path(self.results_dir),
            push_to=self.push_to,
            **self.told,
        )

    def _steps(self, data: TextClassificationDataModule, processes: int) -> int:
        """Of the whole training."""
        batches = len(data.train_dataloader()) // processes
        limit = self.trainer.limit_train_batches
        return self.trainer.epochs * (batches if limit is None else min(limit, batches))
