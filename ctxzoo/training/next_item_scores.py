"""Scores of what comes next, over every prediction of a split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional as F
from torchmetrics import MeanMetric

from ctxzoo.metrics import MeanReciprocalRankAtK, RecallAtK
from ctxzoo.metrics.next_item import Ties, target_ranks
from ctxzoo.models.ops_words import IGNORED
from ctxzoo.training.scoring import build_scorer
from ctxzoo.training.task import Scores, ZooTask


class NextItemScores(Scores):
    """Recall@k and MRR@k in percent, and nats of a prediction, over all predictions of a split.

    `recall_at_20` and `mrr_at_20`: see `ctxzoo.metrics.RecallAtK` and `MeanReciprocalRankAtK`. `nll`: the negative
    log-likelihood of the item that came. Each prediction counts alike, however long its sequence.

    Args:
        recalls, reciprocal_ranks: lengths k of the lists that are scored.
        ties: where items stand that have the score of the right one, see `ctxzoo.metrics.target_ranks`.

    Raises:
        ValueError: a length below 1, or another name of `ties`.
    """

    def __init__(self, recalls: Sequence[int], reciprocal_ranks: Sequence[int], ties: Ties = "pessimistic") -> None:
        super().__init__()
        for k in recalls:
            self.add_module(f"recall_at_{k}", RecallAtK(k, ties=ties))
        for k in reciprocal_ranks:
            self.add_module(f"mrr_at_{k}", MeanReciprocalRankAtK(k, ties=ties))
        # Other strategies leave predictions with NaN out of the mean.
        self.nll = MeanMetric(nan_strategy="disable")

    def update(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Add predictions: logits (n, N) of all items and the items that came (n,)."""
        self.nll.update(F.cross_entropy(logits, labels, reduction="none"))
        for name, metric in self.named_children():
            if name != "nll":
                metric.update(logits, labels)  # type: ignore[operator]

    def compute(self) -> dict[str, float]:
        """Name to value over all that was added."""
        values = {name: float(metric.compute()) for name, metric in self.named_children()}  # type: ignore[operator]
        return {name: value if name == "nll" else 100 * value for name, value in values.items()}


def with_unknown_targets(
    scores: Mapping[str, float], targets: int, unknown: int, are_misses: bool = True
) -> dict[str, float]:
    """Return scores of `NextItemScores` in which targets that a model cannot name are misses.

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


def unknown_targets_sentence(metrics: Mapping[str, float], split: str, things: str) -> Iterator[str]:
    """Say how many targets of a split are unknown, and whether they count as misses; nothing where there are none.

    Args:
        metrics: Of a run, `<split>/<name>` to value.
        split: Its name.
        things: What the targets are, in the plural.
    """
    unknown = int(metrics.get(f"{split}/unknown_targets", 0))
    if unknown:
        counts = any(name.endswith("_known") for name in metrics)
        outcome = "are misses" if counts else "are left out of the scores"
        yield (
            f"{unknown:,} of the {int(metrics[f'{split}/targets']):,} {things} to predict in {split} are not in the "
            f"training, or nothing known is before them: they {outcome}."
        )


def ranks_of_rows(
    batch: dict[str, torch.Tensor], logits: torch.Tensor, labels: torch.Tensor, ties: Ties
) -> dict[str, torch.Tensor]:
    """Return of each row of a batch its number, how many predictions it has, and the ranks of its targets, else 0.

    Args:
        batch: with `row` (B,).
        logits: (B, T, N).
        labels: (B, T), -100 where nothing is predicted.
        ties: see `ctxzoo.metrics.target_ranks`.
    """
    counts = labels != IGNORED
    ranks = torch.zeros_like(labels)
    ranks[counts] = target_ranks(logits[counts], labels[counts], ties)
    return {"row": batch["row"], "predictions": counts.sum(dim=1), "ranks": ranks}


def ranks_by_row(task: ZooTask, data: Any, split: str, *, accelerator: str = "auto") -> list[list[int]]:
    """Return the ranks of the targets of each row of a split, in the order of the rows, for paired tests.

    Args:
        task: whose `predict_step` gives what `ranks_of_rows` does.
        data: a DataModule after `setup`.
        split: name of a split, as the DataModule has it.
        accelerator: how to run.

    Raises:
        ValueError: no such split.
    """
    device = task.model.device
    trainer = build_scorer(data, precision="32-true", accelerator=accelerator, progress=False)
    batches: Any = trainer.predict(task, dataloaders=data.split_dataloader(split))
    task.model.to(device)  # Lightning leaves it on the CPU
    found: dict[int, list[int]] = {}
    for batch in batches:
        for row, ranks in zip(batch["row"].tolist(), batch["ranks"].tolist(), strict=True):
            found[row] = [rank for rank in ranks if rank]
    return [found[row] for row in sorted(found)]
