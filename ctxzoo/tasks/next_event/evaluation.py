"""Scores of a model of next events on a split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ctxzoo.metrics.next_item import Ties
from ctxzoo.tasks.next_event.data import HistoryDataModule
from ctxzoo.tasks.next_event.task import EventScores, NextEventTask
from ctxzoo.training.next_item_scores import with_unknown_targets
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
    max_length: int | None = None,
    ties: Ties = "pessimistic",
    batch_size: int = 32,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Score a model of next events on a split; of a checkpoint the same numbers that its training wrote.

    Every event of every history but the first is to be predicted. Those that the model does not know, by their names,
    are misses, and so are those before which it knows none; from the history of the others unknown events are left
    out. Results of recipes are over known targets alone: `recall_at_1_known` and so on.

    Args:
        checkpoint: folder or Hub id, or a model.
        dataset: Hub id, folder, file, or "sample" for generated histories.
        split: name of a split, as the DataModule has it.
        tokenizer: none; events are no text.
        data_dir, user_column, item_column, time_column: of `HistoryDataModule`.
        max_length: Events that a prediction sees at most; default: as in the training.
        ties: "pessimistic": events with the score of the right one stand before it; "optimistic": behind it.
        batch_size, precision, accelerator: how to run.
        progress: show a progress bar.

    Returns:
        `recall_at_1`, `recall_at_5`, `recall_at_20` and `mrr_at_20` in percent, and `nll`; see `EventScores`. The
        numbers `targets` and `unknown_targets`, and where there are such the scores over known targets alone, under
        the same names and `_known`.

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
        max_length=max_length or config.max_history,
        event_names=config.names(),
        eval_batch_size=batch_size,
        divide=False,
    )
    data.setup()
    how: dict[str, Any] = {"precision": precision, "accelerator": accelerator, "progress": progress}
    scores = score_splits(task, data, (split,), **how)[split]
    return with_unknown_targets(scores, data.targets[split], data.unknown_targets[split])
