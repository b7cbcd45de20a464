"""Recall, mean reciprocal rank and NDCG of the next item, over the ranks of targets among the scores of all items."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torchmetrics import Metric

Ties = Literal["pessimistic", "optimistic"]


def target_ranks(scores: Tensor, targets: Tensor, ties: Ties = "pessimistic") -> Tensor:
    """Return the rank of each target among the scores of all items, 1 for the highest.

    A score that is no number is below every number; a target whose own score is none has the last rank.

    Args:
        scores: (n, N) scores of N items for each of n predictions.
        targets: (n,) ids of the items that really came next.
        ties: Rank of the target among items of the same score: "pessimistic" behind all of them, "optimistic" before
            all of them.

    Returns:
        (n,) int64, from 1 to N.

    Raises:
        ValueError: other shapes or types, targets outside the items, or another name of `ties`.
    """
    _check_ties(ties)
    if scores.dim() != 2 or not scores.is_floating_point():
        raise ValueError(f"scores of shape {tuple(scores.shape)} and type {scores.dtype}: expected (n, items) floats")
    if targets.shape != scores.shape[:1] or targets.is_floating_point() or targets.dtype == torch.bool:
        raise ValueError(
            f"targets of shape {tuple(targets.shape)} and type {targets.dtype}: expected ({len(scores)},) integers"
        )
    targets = targets.long()
    odd = targets[(targets < 0) | (targets >= scores.size(1))]
    if odd.numel():
        raise ValueError(f"target {odd[0].item()} is none of the items 0..{scores.size(1) - 1} that have a score")
    target_scores = scores.gather(1, targets.unsqueeze(1))
    ahead = (
        scores > target_scores if ties == "optimistic" else scores >= target_scores
    )  # the target stands before itself here
    ranks = ahead.sum(dim=1) + (1 if ties == "optimistic" else 0)
    return torch.where(target_scores.squeeze(1).isnan(), scores.size(1), ranks)


class _RanksAtK(Metric):
    """The mean over predictions of what the rank of their target is worth, 0 beyond `top_k`.

    Args:
        top_k: Length k of the list of recommendations.
        ties: Rank of the target among items of the same score, "pessimistic" or "optimistic", as in `target_ranks`.
        **kwargs: The options of ``torchmetrics.Metric``.

    Raises:
        ValueError: top_k below 1, or another name of `ties`.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False

    worth: Tensor
    predictions: Tensor

    def __init__(self, top_k: int = 20, *, ties: Ties = "pessimistic", **kwargs: Any) -> None:
        if top_k < 1:
            raise ValueError(f"top_k is {top_k}; expected 1 or more")
        _check_ties(ties)
        super().__init__(**kwargs)
        self.top_k = top_k
        self.ties: Ties = ties
        self.add_state("worth", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("predictions", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, scores: Tensor, targets: Tensor, ranks: Tensor | None = None) -> None:
        """Add predictions.

        Args:
            scores: (n, N) scores of all N items.
            targets: (n,) items that came.
            ranks: (n,) ranks of the targets, where `target_ranks` has given them already; None: it is called.

        Raises:
            ValueError: see `target_ranks`.
        """
        ranks = target_ranks(scores, targets, self.ties) if ranks is None else ranks
        self.worth += torch.where(ranks <= self.top_k, self.score_ranks(ranks), 0.0).sum()
        self.predictions += len(ranks)

    def compute(self) -> Tensor:
        """Return the mean, a scalar from 0 to 1; NaN before any prediction."""
        return self.worth / self.predictions

    def score_ranks(self, ranks: Tensor) -> Tensor:
        """Return the score of each rank (n,) within `top_k`, in float64; each metric defines its own."""
        raise NotImplementedError


class RecallAtK(_RanksAtK):
    """Recall@k of the next item: the fraction of predictions whose target is among the k highest scores.

    Each prediction has one right item, so that recall is the hit rate. torchmetrics' retrieval metrics keep the score
    of every item of every prediction until the end and break ties by the order in which items stand; this one keeps
    two numbers, and says how ties count.

    Args:
        top_k, ties, **kwargs: Length k of the list, treatment of equal scores (default: the target comes last) and
            options of ``torchmetrics.Metric``.
    """

    def score_ranks(self, ranks: Tensor) -> Tensor:
        """Return 1 for each target (n,) among the first k."""
        return torch.ones_like(ranks, dtype=torch.float64)


class MeanReciprocalRankAtK(_RanksAtK):
    """MRR@k of the next item: the mean of 1 / rank of the target, 0 for one that is not among the k highest scores.

    Args:
        top_k, ties, **kwargs: Length k of the list, treatment of equal scores (default: the target comes last) and
            options of ``torchmetrics.Metric``.
    """

    def score_ranks(self, ranks: Tensor) -> Tensor:
        """Return 1 / rank for each target (n,) among the first k."""
        return 1 / ranks.double()


class NdcgAtK(_RanksAtK):
    """NDCG@k of the next item: the mean of 1 / log2(1 + rank) of the target, 0 beyond k (Järvelin and Kekäläinen 2002).

    Each prediction has one right item, so that the best possible sum, by which it is divided, is 1.

    Args:
        top_k, ties, **kwargs: Length k of the list, treatment of equal scores (default: the target comes last) and
            options of ``torchmetrics.Metric``.
    """

    def score_ranks(self, ranks: Tensor) -> Tensor:
        """Return 1 / log2(1 + rank) for each target (n,) among the first k."""
        return 1 / torch.log2(1 + ranks.double())


def _check_ties(ties: str) -> None:
    """Raise `ValueError` unless `ties` is one of the ways to rank equal scores."""
    if ties not in get_args(Ties):
        raise ValueError(f"ties={ties!r}: expected one of {', '.join(get_args(Ties))}")
