"""Scores of a saved classifier on a split."""

from __future__ import annotations

from typing import Any

from transformers import AutoTokenizer

from ctxzoo.data.text_datamodule import TextClassificationDataModule
from ctxzoo.evaluation.scoring import score_splits
from ctxzoo.training.sequence_classification_task import SequenceClassificationTask


def evaluate_classifier(
    checkpoint: str,
    dataset: str,
    splits: tuple[str, ...] = ("test",),
    *,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
    **data_options: Any,
) -> dict[str, dict[str, float]]:
    """Score a checkpoint folder or Hub id; the same numbers that its recipe wrote.

    Args:
        checkpoint: folder or Hub id with model and tokenizer.
        dataset: "sample", Hub id, folder or file.
        splits: names of splits, as the DataModule has them.
        batch_size, precision, accelerator: how to run.
        progress: show a progress bar.
        data_options: of `TextClassificationDataModule`, such as data_dir; of a checkpoint from a cross-validation
            folds, fold and fold_seed as in its training, since other folds hold texts that it was trained on.

    Returns:
        Split name to metrics, named as in `SequenceClassificationTask` without the split's name in front.

    Raises:
        ValueError: the labels of the data are not those of the checkpoint.
    """
    task = SequenceClassificationTask(pretrained=checkpoint)
    data = TextClassificationDataModule(
        dataset, eval_batch_size=batch_size, tokenizer=AutoTokenizer.from_pretrained(checkpoint), **data_options
    )
    data.setup()
    return score_splits(task, data, splits, precision=precision, accelerator=accelerator, progress=progress)
