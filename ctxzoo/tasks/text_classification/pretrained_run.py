"""One training of a pretrained encoder of Hugging Face with a new classification head."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import lightning
from transformers import AutoTokenizer

from ctxzoo.hub.checkpoint_folder import swap_folder
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.results.result import write_result_file
from ctxzoo.runs.finish import training_result
from ctxzoo.runs.train import TrainingRun
from ctxzoo.tasks.text_classification.card import CARD
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.task import SequenceClassificationTask
from ctxzoo.training.task import ZooTask


@dataclass(frozen=True, kw_only=True)
class PretrainedRun(TrainingRun):
    """All that decides one training; see `TrainingRun`.

    The checkpoint folder is that of transformers: model and tokenizer, without a card, for the model is not ours.

    Attributes:
        pretrained: Hub id or folder of model and tokenizer.

    Raises:
        OSError: when it runs, there is no such model.
    """

    data_class: ClassVar[Any] = TextClassificationDataModule
    task_class: ClassVar[type[ZooTask]] = SequenceClassificationTask
    card: ClassVar[TaskCard] = CARD

    pretrained: str

    def build_data(self) -> TextClassificationDataModule:
        return TextClassificationDataModule.from_options(
            tokenizer=AutoTokenizer.from_pretrained(self.pretrained), **self.data
        )

    def build_task(self, data: TextClassificationDataModule, processes: int) -> SequenceClassificationTask:
        return SequenceClassificationTask(pretrained=self.pretrained, label_names=data.label_names, **self.task)

    def finish(
        self,
        task: SequenceClassificationTask,
        data: TextClassificationDataModule,
        trainer: lightning.Trainer,
        scores: dict[str, dict[str, float]],
    ) -> None:
        with tempfile.TemporaryDirectory(prefix=".checkpoint-new-", dir=self.spec.folder) as place:
            new = Path(place) / "checkpoint"
            task.model.save_pretrained(new)
            data.tokenizer.save_pretrained(new)
            swap_folder(new, self.spec.checkpoint)
        # Last: a run whose results are there is taken for finished.
        write_result_file(training_result(task, data, trainer, scores, self.spec, self.card), self.spec.results_file)
