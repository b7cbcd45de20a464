"""Scores of a recommender on a split, and of each of its sessions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ctxzoo.metrics.next_item import Ties
from ctxzoo.tasks.session_recommendation.data import SessionDataModule
from ctxzoo.tasks.session_recommendation.task import SessionRecommendationTask, SessionScores
from ctxzoo.training.next_item_scores import ranks_by_row, with_unknown_targets
from ctxzoo.training.scoring import score_splits, task_of

LIST_LENGTH = 20  # of the lists of recommendations by which sessions are compared


@dataclass(frozen=True)
class SessionScore:
    """The score of one session.

    Attributes:
        row: of the session in `SessionDataModule.sequences`.
        predictions: how many items were predicted.
        recall_at_20: how many of them were among the 20 highest scores.
        mrr_at_20: the sum of 1 / rank of these.
    """

    row: int
    predictions: int
    recall_at_20: int
    mrr_at_20: float


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: None = None,
    data_dir: str | None = None,
    user_column: str = "user",
    item_column: str = "item",
    time_column: str = "time",
    max_length: int | None = None,
    ties: Ties = "pessimistic",
    batch_size: int = 16,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Score a recommender on a split; of a checkpoint the same numbers that its training wrote.

    Every item of every session but the first is to be predicted. Those that the model does not know, by their names,
    are misses, and so are those before which it knows none; from the history of the others unknown items are left out.
    Results of recipes are over known targets alone: `recall_at_20_known` and so on.

    Args:
        checkpoint: folder or Hub id, or a model.
        dataset: Hub id, folder, file, or "sample" for generated sessions.
        split: name of a split, as the DataModule has it.
        tokenizer: none; sessions are no text.
        data_dir, user_column, item_column, time_column: of `SessionDataModule`.
        max_length: Items that a prediction sees at most; default: as in the training.
        ties: "pessimistic": items with the score of the right one stand before it; "optimistic": behind it.
        batch_size, precision, accelerator: how to run.
        progress: show a progress bar.

    Returns:
        `recall_at_10`, `mrr_at_10`, `recall_at_20` and `mrr_at_20` in percent, and `nll`; see `SessionScores`. The
        numbers `targets` and `unknown_targets`, and where there are such the scores over known targets alone, under
        the same names and `_known`.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: no such split; a checkpoint of another problem; another name of `ties`.
    """
    task = task_of(SessionRecommendationTask, checkpoint)
    task.scores["test"] = SessionScores(ties)
    config = task.model.config
    data = SessionDataModule(
        dataset,
        data_dir=data_dir,
        user_column=user_column,
        item_column=item_column,
        time_column=time_column,
        max_length=max_length or config.max_history,
        item_names=config.names(),
        eval_batch_size=batch_size,
        divide=False,
    )
    data.setup()
    how: dict[str, Any] = {"precision": precision, "accelerator": accelerator, "progress": progress}
    scores = score_splits(task, data, (split,), **how)[split]
    return with_unknown_targets(scores, data.targets[split], data.unknown_targets[split])


def session_scores(
    model: PreTrainedModel, data: SessionDataModule, split: str = "test", *, accelerator: str = "auto"
) -> list[SessionScore]:
    """Return the score of each session of a split, by row, for paired tests of two models; ties are pessimistic.

    Args:
        model: a recommender.
        data: after `setup`.
        split: name of a split, as the DataModule has it.
        accelerator: how to run.

    Raises:
        ValueError: no such split; a model of another problem.
    """
    ranks = ranks_by_row(task_of(SessionRecommendationTask, model), data, split, accelerator=accelerator)
    scores = []
    for row, of_row in enumerate(ranks):
        listed = [rank for rank in of_row if rank <= LIST_LENGTH]
        scores.append(SessionScore(row, len(of_row), len(listed), sum(1 / rank for rank in listed)))
    return scores
