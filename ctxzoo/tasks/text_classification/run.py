"""One training of a classifier of texts: of the zoo from its start, or a pretrained encoder of Hugging Face."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import lightning
from torch import nn
from transformers import AutoTokenizer

from ctxzoo.data.files import atomic_folder
from ctxzoo.hub.checkpoint_folder import save_weights
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.results.result import write_result_file
from ctxzoo.runs.finish import training_result
from ctxzoo.runs.train import ClassificationRun, TrainingRun
from ctxzoo.tasks.text_classification.card import CARD
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.prediction import RECORDED
from ctxzoo.tasks.text_classification.task import SequenceClassificationTask
from ctxzoo.training.remaining_time import RemainingTime
from ctxzoo.training.task import ZooTask
from ctxzoo.word_vectors.vocabulary import set_word_features, set_word_vectors


@dataclass(frozen=True, kw_only=True)
class ClassifierRun(ClassificationRun):
    """All that decides one training; see `TrainingRun` and `ZooRun`.

    Attributes:
        naive_bayes: the model starts as naive Bayes over the training rows, with class scores that each group of
            features sets apart by so much; 0: it starts at random.
        zeroed: names of parameters of the model that are 0 at the start and are not trained.
        text_columns: Names of the columns of a user's file that were read; the tokenizer keeps them for predictions.
    """

    data_class: ClassVar[Any] = TextClassificationDataModule
    task_class: ClassVar[type[ZooTask]] = SequenceClassificationTask
    card: ClassVar[TaskCard] = CARD

    naive_bayes: float = 0.0
    zeroed: tuple[str, ...] = ()
    text_columns: tuple[str, ...] = ()

    def build_data(self) -> TextClassificationDataModule:
        return TextClassificationDataModule.from_options(**{"init_from": self.pretrained, **self.data})

    def build_task(self, data: TextClassificationDataModule, processes: int) -> SequenceClassificationTask:
        task = SequenceClassificationTask(**self.start(data), **self.schedule(data, processes), **self.task)
        data.tokenizer.init_kwargs.pop(RECORDED, None)
        if self.text_columns:
            data.tokenizer.init_kwargs[RECORDED] = list(self.text_columns)
        set_word_vectors(task.model, data.vector_table())
        if self.naive_bayes:
            features, weights = data.naive_bayes()
            set_word_features(task.model, features)
            task.model.start_linear(self.naive_bayes * weights)
        if has_wide_part(task.model):
            start_wide_part(task.model, data, ("train",), tell_time=self.trainer.tell_time)
        for name in self.zeroed:
            nn.init.zeros_(task.model.get_parameter(name)).requires_grad_(False)
        return task

    def score(self, task: Any, data: Any, splits: tuple[str, ...]) -> dict[str, dict[str, float]]:
        """Return split to scores; the wide part is fitted to the rows of validation too, once these are scored."""
        if not has_wide_part(task.model) or "validation" not in data.splits:
            return super().score(task, data, splits)
        scores = super().score(task, data, tuple(split for split in splits if split == "validation"))
        start_wide_part(task.model, data, ("train", "validation"), tell_time=self.trainer.tell_time)
        return scores | super().score(task, data, tuple(split for split in splits if split != "validation"))


def has_wide_part(model: Any) -> bool:
    """Return whether the model adds the scores of a linear classifier to its own."""
    return getattr(model, "wide", None) is not None


def start_wide_part(
    model: Any, data: TextClassificationDataModule, splits: tuple[str, ...], *, tell_time: bool = False
) -> None:
    """Fit the wide part of a model to these splits; where it takes long it is told."""
    number = sum(len(data.rows(split)) for split in splits)
    read = number if data.wide_rows is None else min(number, data.wide_rows)
    remaining = RemainingTime(f"linear part, fitted to {read:,} texts of {' and '.join(splits)}", "fits")
    tell = remaining.tell if tell_time else (lambda done, total: None)
    start = data.wide_start(splits, model.config.wide_groups, tell)
    model.start_wide(start.inverse_document_frequency, start.weight, start.bias)


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
        with atomic_folder(self.spec.checkpoint) as new:
            save_weights(task.model, new, half=False)
            data.tokenizer.save_pretrained(new)
        # Last: a run whose results are there is taken for finished.
        write_result_file(training_result(task, data, trainer, scores, self.spec, self.card), self.spec.results_file)
