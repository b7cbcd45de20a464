"""One training of a reader, from its start or from a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.train import ZooRun
from ctxzoo.tasks.question_answering.card import CARD
from ctxzoo.tasks.question_answering.data import LEFT_OUT, SquadDataModule
from ctxzoo.tasks.question_answering.evaluation import article_scores
from ctxzoo.tasks.question_answering.task import QuestionAnsweringTask
from ctxzoo.training.scoring import score_splits
from ctxzoo.training.task import ZooTask
from ctxzoo.word_vectors.vocabulary import set_word_vectors


@dataclass(frozen=True, kw_only=True)
class ReaderRun(ZooRun):
    """All that decides one training; see `TrainingRun` and `ZooRun`."""

    data_class: ClassVar[Any] = SquadDataModule
    task_class: ClassVar[type[ZooTask]] = QuestionAnsweringTask
    card: ClassVar[TaskCard] = CARD

    def model_config(self, data: SquadDataModule) -> dict[str, Any]:
        return {**super().model_config(data), "squad_version": data.squad_version}

    def build_data(self) -> SquadDataModule:
        return SquadDataModule(**{"init_from": self.pretrained, **self.data})

    def build_task(self, data: SquadDataModule, processes: int) -> QuestionAnsweringTask:
        data.split_dataloader("validation")  # it picks epoch and threshold: where there is none, an error now
        task = QuestionAnsweringTask(**self.start(data), **{**self.task, **self.schedule(data, processes)})
        if self.pretrained is None:
            set_word_vectors(task.model, data.vector_table())
            return task
        config = task.model.config
        if config.trained_positions is not None:  # what the checkpoint itself was trained on counts as well
            config.trained_positions = max(config.trained_positions, data.trained_positions())
        return task

    def score(
        self, task: QuestionAnsweringTask, data: SquadDataModule, splits: tuple[str, ...]
    ) -> dict[str, dict[str, float]]:
        """Split to scores, at a threshold that is tuned on validation first."""
        progress = self.trainer.progress
        scores = score_splits(task, data, ("validation",), progress=progress)
        task.tune_threshold(scores["validation"])
        # With a threshold, validation has a score at it as well.
        left = [split for split in splits if split != "validation" or task.no_answer_threshold is not None]
        if data.left_out_source is not None and "test" in splits:
            left.append(LEFT_OUT)
        return scores | score_splits(task, data, tuple(left), progress=progress)

    def per_example(
        self, task: QuestionAnsweringTask, data: SquadDataModule, splits: tuple[str, ...]
    ) -> dict[str, list[float]]:
        """Return what `article_scores` gives of the split that results are of."""
        return article_scores(task, data, self.spec.score, progress=self.trainer.progress)
