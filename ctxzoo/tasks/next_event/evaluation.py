"""Scores of a model of next events on a split."""

from __future__ import annotations

from pathlib import Path

from transformers import PreTrainedModel

from ctxzoo.data.named_sequences import MAX_LENGTH
from ctxzoo.metrics.next_item import Ties
from ctxzoo.tasks.next_event.data import HistoryDataModule
from ctxzoo.tasks.next_event.task import EventScores, NextEventTask
from ctxzoo.training.scoring import score_splits, task_of


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
    max_length: int = MAX_LENGTH,
    ties: Ties = "pessimistic",
    batch_size: int = 32,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Score a model of next events on a split; of a checkpoint the same numbers that its recipe wrote.

    Events are told by their names; those that the model does not know are left out of the histories.

    Args:
        checkpoint: folder or Hub id, or a model.
        dataset: Hub id, folder, file, or "sample" for generated histories.
        split: name of a split, as the DataModule has it.
        tokenizer: none; events are no text.
        data_dir, user_column, item_column, time_column, max_length: of `HistoryDataModule`.
        ties: "pessimistic": events with the score of the right one stand before it; "optimistic": behind it.
        batch_size, precision, accelerator: how to run.
        progress: show a progress bar.

    Returns:
        `recall_at_1`, `recall_at_5`, `recall_at_20` and `mrr_at_20` in percent, and `nll`; see `EventScores`.

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: no such split; a checkpoint of another problem; another name of `ties`.
    """
    task = task_of(NextEventTask, checkpoint)
    task.scores["test"] = EventScores(ties)
    config = task.model.config
    data = HistoryDataModule(
        dataset,
        data_dir=data_dir,
        user_column=user_column,
        item_column=item_column,
        time_column=time_column,
        max_length=max_length,
        event_names=config.names(),
        eval_batch_size=batch_size,
    )
    data.setup()
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]
