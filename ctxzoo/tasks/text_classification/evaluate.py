"""Scores of a saved classifier on a split, and of several together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoTokenizer

from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.task import SequenceClassificationTask
from ctxzoo.training.classification_scores import ClassificationScores
from ctxzoo.training.scoring import build_scorer, score_splits


def evaluate_classifier(
    checkpoint: str | Sequence[str],
    dataset: str,
    splits: tuple[str, ...] = ("test",),
    *,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
    **data_options: Any,
) -> dict[str, dict[str, float]]:
    """Score a checkpoint folder or Hub id, the same numbers that its recipe wrote; or several as one.

    Several together give each label the mean of their probabilities. They may differ in anything but their labels; each
    reads the texts with its own tokenizer.

    Args:
        checkpoint: folder or Hub id with model and tokenizer, or a sequence of them.
        dataset: "sample", Hub id, folder or file.
        splits: names of splits, as the DataModule has them.
        batch_size, precision, accelerator: how to run.
        progress: show a progress bar.
        data_options: of `TextClassificationDataModule`, such as data_dir; of a checkpoint from a cross-validation
            folds, fold and fold_seed as in its training, since other folds hold texts that it was trained on.

    Returns:
        Split name to metrics, named as in `SequenceClassificationTask` without the split's name in front.

    Raises:
        ValueError: no checkpoint; labels of the data that are not those of a checkpoint.
    """
    how: dict[str, Any] = {"precision": precision, "accelerator": accelerator, "progress": progress}
    if isinstance(checkpoint, str):
        return score_splits(*_loaded(checkpoint, dataset, batch_size, data_options), splits, **how)
    if not checkpoint:
        raise ValueError("checkpoint is empty; give one or more to take the mean of")
    found: dict[str, list[torch.Tensor]] = {split: [] for split in splits}
    for member in checkpoint:
        task, data = _loaded(member, dataset, batch_size, data_options)
        scorer = build_scorer(data, **how)
        for split in splits:
            batches = scorer.predict(task, data.split_dataloader(split))
            rows, logits = (torch.cat([batch[name] for batch in batches or []]) for name in ("row", "logits"))
            found[split].append(logits[rows.argsort()].log_softmax(dim=1))
    scores = {}
    for split in splits:
        mean = torch.stack(found[split]).logsumexp(dim=0) - math.log(len(checkpoint))
        of_split = ClassificationScores(mean.size(1))
        of_split.update(mean, torch.from_numpy(data.labels(split)))
        scores[split] = of_split.compute()
    return scores


def _loaded(
    checkpoint: str, dataset: str, batch_size: int, data_options: dict[str, Any]
) -> tuple[SequenceClassificationTask, TextClassificationDataModule]:
    """A classifier, and the data as it reads them."""
    task = SequenceClassificationTask(pretrained=checkpoint)
    data = TextClassificationDataModule(
        dataset, eval_batch_size=batch_size, tokenizer=AutoTokenizer.from_pretrained(checkpoint), **data_options
    )
    data.setup()
    return task, data
