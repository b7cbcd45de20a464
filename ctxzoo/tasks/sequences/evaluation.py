"""Scores of a model of sequences on a split, and of each session of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ctxzoo.metrics.next_item import Ties
from ctxzoo.tasks.sequences.data import HistoryDataModule, SequencesDataModule, SessionDataModule
from ctxzoo.tasks.sequences.task import NextEventTask, SequenceTask, SessionRecommendationTask
from ctxzoo.training.scoring import build_scorer, score_splits, task_of

LIST_LENGTH = 20  # of the lists of recommendations by which sessions are compared


def evaluate_sessions(
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
    columns = {"user_column": user_column, "item_column": item_column, "time_column": time_column}
    data = {"data_dir": data_dir, **columns, "max_length": max_length, "eval_batch_size": batch_size}
    how = {"precision": precision, "accelerator": accelerator, "progress": progress}
    return _evaluate(SessionRecommendationTask, SessionDataModule, checkpoint, dataset, split, ties, data, how)


def evaluate_histories(
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
    batch_size: int = 32,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Score a model of next events on a split; of a checkpoint the same numbers that its training wrote.

    Every event of every history but the first is to be predicted. Unknown ones count as unknown items do, see
    `ctxzoo.tasks.session_recommendation.evaluate`.

    Args:
        checkpoint, dataset, split, tokenizer, data_dir, user_column, item_column, time_column, max_length, ties,
            batch_size, precision, accelerator, progress: as there, with events in the place of items and histories in
            that of sessions.

    Returns:
        `recall_at_1`, `recall_at_5`, `recall_at_20` and `mrr_at_20` in percent, and `nll`, see `EventScores`; and the
        counts that are told there.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: no such split; a checkpoint of another problem; another name of `ties`.
    """
    columns = {"user_column": user_column, "item_column": item_column, "time_column": time_column}
    data = {"data_dir": data_dir, **columns, "max_length": max_length, "eval_batch_size": batch_size}
    how = {"precision": precision, "accelerator": accelerator, "progress": progress}
    return _evaluate(NextEventTask, HistoryDataModule, checkpoint, dataset, split, ties, data, how)


def _evaluate(
    task_class: type[SequenceTask],
    data_class: type[SequencesDataModule[Any]],
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str,
    ties: Ties,
    arguments: Mapping[str, Any],
    how: Mapping[str, Any],
) -> dict[str, float]:
    task = task_of(task_class, checkpoint)
    task.scores["test"] = task_class.scores_class(ties)
    config = task.model.config
    things = {"max_length": arguments["max_length"] or config.max_history, task.kind.names_argument: config.names()}
    data = data_class(dataset, divide=False, **{**arguments, **things})
    data.setup()
    scores = score_splits(task, data, (split,), **how)[split]
    return with_unknown_targets(scores, data.targets[split], data.unknown_targets[split])


def with_unknown_targets(
    scores: Mapping[str, float], targets: int, unknown: int, are_misses: bool = True
) -> dict[str, float]:
    """Return scores of `SequenceScores` in which targets that a model cannot name are misses.

    Args:
        scores: Means over the targets that are known.
        targets: Number of all targets: every thing of every sequence but the first.
        unknown: Number of those that the model does not know, or before which there is nothing that it knows.
        are_misses: Whether they count; otherwise the scores stay means over the known ones.

    Returns:
        The scores, where some targets are unknown and count also those over the known ones alone, under their name and
        `_known`; `targets` and `unknown_targets`. `nll` is over the known ones: a miss has no probability.
    """
    found = dict(scores)
    if unknown and are_misses:
        for name, value in scores.items():
            if name != "nll":
                found |= {name: value * (targets - unknown) / targets, f"{name}_known": value}
    return {**found, "targets": targets, "unknown_targets": unknown}


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
    task = task_of(SessionRecommendationTask, model)
    device = task.model.device
    trainer = build_scorer(data, precision="32-true", accelerator=accelerator, progress=False)
    batches: Any = trainer.predict(task, dataloaders=data.split_dataloader(split))
    task.model.to(device)  # Lightning leaves it on the CPU
    found: dict[int, SessionScore] = {}
    for batch in batches:
        for row, of_row in zip(batch["row"].tolist(), batch["ranks"].tolist(), strict=True):
            ranks = [rank for rank in of_row if rank]  # 0 where nothing is predicted
            listed = [rank for rank in ranks if rank <= LIST_LENGTH]
            found[row] = SessionScore(row, len(ranks), len(listed), sum(1 / rank for rank in listed))
    return [found[row] for row in sorted(found)]
