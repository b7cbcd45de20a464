"""Scores of several saved classifiers as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoTokenizer

from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.task import SequenceClassificationTask
from ctxzoo.training.classification import ClassificationScores
from ctxzoo.training.scoring import build_scorer


def evaluate_ensemble(
    checkpoints: Sequence[str],
    dataset: str,
    splits: tuple[str, ...] = ("test",),
    *,
    batch_size: int = 256,
    precision: str = "32-true",
    accelerator: str = "auto",
    progress: bool = True,
    **data_options: Any,
) -> dict[str, dict[str, float]]:
    """Score classifiers together: each label has the mean of their probabilities.

    They may differ in anything but their labels; each reads the texts with its own tokenizer.

    Args:
        checkpoints: folders or Hub ids with model and tokenizer.
        dataset, batch_size, precision, accelerator, progress, data_options: as in `evaluation.evaluate`.
        splits: names of splits, as the DataModule has them.

    Returns:
        Split name to metrics, named as in `SequenceClassificationTask` without the split's name in front.

    Raises:
        ValueError: no checkpoint; labels of the data that are not those of a checkpoint.
    """
    if not checkpoints:
        raise ValueError("checkpoints is empty; give one or more to take the mean of")
    found: dict[str, list[torch.Tensor]] = {split: [] for split in splits}
    for member in checkpoints:
        task = SequenceClassificationTask(pretrained=member)
        data = TextClassificationDataModule.from_options(
            dataset, eval_batch_size=batch_size, tokenizer=AutoTokenizer.from_pretrained(member), **data_options
        )
        data.setup()
        scorer = build_scorer(data, precision=precision, accelerator=accelerator, progress=progress)
        for split in splits:
            batches = scorer.predict(task, data.split_dataloader(split))
            rows, logits = (torch.cat([batch[name] for batch in batches or []]) for name in ("row", "logits"))
            found[split].append(logits[rows.argsort()].log_softmax(dim=1))
    scores = {}
    for split in splits:
        mean = torch.stack(found[split]).logsumexp(dim=0) - math.log(len(checkpoints))
        of_split = ClassificationScores(mean.size(1))
        of_split.update(mean, torch.from_numpy(data.labels(split)))
        scores[split] = of_split.compute()
    return scores
