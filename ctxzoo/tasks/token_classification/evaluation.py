"""Scores of a tagger on a split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ctxzoo.hub.classification_facts import label_names
from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
from ctxzoo.tasks.token_classification.task import TokenClassificationTask
from ctxzoo.training.scoring import score_splits, task_of, tokenizer_of


def evaluate(
    checkpoint: str | Path | PreTrainedModel,
    dataset: str,
    split: str = "test",
    *,
    tokenizer: Any = None,
    data_dir: str | None = None,
    tag_column: str | None = None,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, float]:
    """Score a tagger on a split; of a checkpoint the same numbers that its recipe wrote.

    Args:
        checkpoint: folder or Hub id with model and tokenizer, or a model.
        dataset: Hub id, folder, or "sample" for the generated corpus.
        split: name of a split, as the DataModule has it.
        tokenizer: of a model; default the one of the checkpoint.
        data_dir, tag_column: of `TokenClassificationDataModule`.
        batch_size, precision, accelerator: how to run.
        progress: show a progress bar.

    Returns:
        Name to score, named as in `TokenClassificationTask` without the split's name in front; percentages but for
        `nll` (nats).

    Raises:
        OSError: there is no such checkpoint or dataset.
        ValueError: a sentence has a tag that the model does not have, unless it is left out with `--skip_bad`; no such
            split; a checkpoint of another problem; a model without its tokenizer.
    """
    task = task_of(TokenClassificationTask, checkpoint)
    data = TokenClassificationDataModule(
        dataset,
        data_dir=data_dir,
        tag_column=tag_column,
        eval_batch_size=batch_size,
        tokenizer=tokenizer_of(checkpoint, tokenizer),
        known_labels=label_names(task.model.config),
        divide=False,
    )
    data.setup()
    return score_splits(task, data, (split,), precision=precision, accelerator=accelerator, progress=progress)[split]
