"""Scores of a saved tagger on a split."""

from __future__ import annotations

from transformers import AutoTokenizer

from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
from ctxzoo.tasks.token_classification.task import TokenClassificationTask
from ctxzoo.training.scoring import score_splits


def evaluate_tagger(
    checkpoint: str,
    dataset: str,
    splits: tuple[str, ...] = ("test",),
    *,
    data_dir: str | None = None,
    tag_column: str | None = None,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
) -> dict[str, dict[str, float]]:
    """Score a checkpoint folder or Hub id; the same numbers that its recipe wrote.

    Args:
        checkpoint: folder or Hub id with model and tokenizer.
        dataset: "sample", Hub id or folder.
        splits: names of splits, as the DataModule has them.
        data_dir, tag_column: of `TokenClassificationDataModule`.
        batch_size, precision, accelerator: how to run.
        progress: show a progress bar.

    Returns:
        Split name to metrics, named as in `TokenClassificationTask` without the split's name in front.

    Raises:
        ValueError: the tags of the data are not those of the checkpoint.
    """
    task = TokenClassificationTask(pretrained=checkpoint)
    data = TokenClassificationDataModule(
        dataset,
        data_dir=data_dir,
        tag_column=tag_column,
        eval_batch_size=batch_size,
        tokenizer=AutoTokenizer.from_pretrained(checkpoint),
    )
    data.setup()
    return score_splits(task, data, splits, precision=precision, accelerator=accelerator, progress=progress)
