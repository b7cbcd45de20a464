"""Scores of each label of a classifier: of one label for each text, and of any number of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torchmetrics import Metric

from ctxzoo.metrics.label_threshold import USUAL_THRESHOLD

THRESHOLDS = tuple(number / 100 for number in range(1, 100))
CHANCE = 0.5  # points of a score, below which one threshold is not better than another
SET_SCORES = ("micro_f1", "macro_f1", "exact_match")  # by which a threshold may be chosen


class LabelPairs(Metric):
    """The true and the predicted label of each row, from which a confusion matrix is counted.

    Args:
        num_labels: Number of labels L.
        **kwargs: The options of ``torchmetrics.Metric``.
    """

    is_differentiable = False
    full_state_update = False
    pairs: Any  # a list of tensors, one tensor once it is gathered

    def __init__(self, num_labels: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.num_labels = num_labels
        self.add_state("pairs", [], dist_reduce_fx="cat")

    def update(self, predicted: Tensor, true: Tensor) -> None:
        """Add predicted and true labels, (N,) each."""
        self.pairs.append(true * self.num_labels + predicted)

    def compute(self) -> Tensor:
        """Return (n, 3) the true label, the predicted one and the number of rows, of all pairs that occur."""
        pairs = self.pairs if isinstance(self.pairs, Tensor) else torch.cat(self.pairs)
        values, counts = torch.unique(pairs, return_counts=True)
        return torch.stack([values // self.num_labels, values % self.num_labels, counts], dim=1)


class LabelSetScores(Metric):
    """Micro and macro F1 and exact match of texts with any number of labels, at every threshold of the probability.

    A label is predicted where its probability is at the threshold or above. Macro F1 is the mean over the labels that
    any text has, or is given; a text is an exact match where all of its labels are right.

    Args:
        num_labels: Number of labels L.
        threshold: Threshold that is scored beside `THRESHOLDS`; None: these alone.
        **kwargs: The options of ``torchmetrics.Metric``.
    """

    is_differentiable = False
    full_state_update = False
    found: Tensor
    right: Tensor
    true: Tensor
    exact: Tensor
    rows: Tensor

    def __init__(self, num_labels: int, threshold: float | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.thresholds = sorted({*THRESHOLDS, *([] if threshold is None else [threshold])})
        self.register_buffer("edges", torch.tensor(self.thresholds, dtype=torch.float64), persistent=False)
        sizes = {"found": (len(self.thresholds) + 1, num_labels), "true": (num_labels,), "rows": ()}
        sizes |= {"right": sizes["found"], "exact": (len(self.thresholds) + 1,)}
        for name, size in sizes.items():
            self.add_state(name, torch.zeros(size, dtype=torch.long), dist_reduce_fx="sum")

    def update(self, probabilities: Tensor, labels: Tensor) -> None:
        """Add texts.

        Args:
            probabilities: (N, L) probability of each label.
            labels: (N, L) 0 and 1.
        """
        has, number = labels.bool(), probabilities.size(1)
        # Each probability reaches so many thresholds, the lowest first.
        reached = torch.bucketize(probabilities.double(), self.edges, right=True)  # (N, L)
        places = reached * number + torch.arange(number, device=reached.device)
        size = self.found.numel()
        self.found += torch.bincount(places.flatten(), minlength=size).view_as(self.found)
        self.right += torch.bincount(places[has], minlength=size).view_as(self.right)
        self.true += has.sum(dim=0)
        self.rows += len(labels)
        # A text is right from the threshold above those of its wrong labels up to the lowest of its own.
        last = len(self.thresholds)
        begin = reached.masked_fill(has, 0).amax(dim=1)
        end = reached.masked_fill(~has, last).amin(dim=1)
        is_right = begin < end
        self.exact += torch.bincount(begin[is_right], minlength=last + 1)
        self.exact -= torch.bincount(end[is_right], minlength=last + 1)

    def count_at_thresholds(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return numbers of texts with a label predicted, and of these the right ones, (T, L), and exact ones, (T,)."""
        found, right = (counts.flip(0).cumsum(0).flip(0)[1:] for counts in (self.found, self.right))
        return found, right, self.exact.cumsum(0)[:-1]

    def compute_at_thresholds(self) -> dict[str, Tensor]:
        """Return each of `SET_SCORES`, in percent, at every threshold, (T,)."""
        found, right, exact = (counts.double() for counts in self.count_at_thresholds())
        occurring = found + self.true
        f1 = 2 * right / occurring.clamp(min=1)
        return {
            "micro_f1": 200 * right.sum(dim=1) / occurring.sum(dim=1).clamp(min=1),
            "macro_f1": 100 * f1.sum(dim=1) / (occurring > 0).sum(dim=1).clamp(min=1),
            "exact_match": 100 * exact / self.rows.clamp(min=1),
        }

    def choose_threshold(self, score: str = SET_SCORES[0]) -> float:
        """Return the threshold nearest to .5 at which a score is best, or less than half a point below the best.

        Such differences are chance where rows are few; and low thresholds give labels to texts of no known word.

        Args:
            score: Name of the score, one of `SET_SCORES`.
        """
        values = self.compute_at_thresholds()[score].tolist()
        least = max(values) - CHANCE
        equal = [threshold for threshold, value in zip(self.thresholds, values, strict=True) if value >= least]
        return min(equal, key=lambda threshold: abs(threshold - USUAL_THRESHOLD))

    def compute(self) -> dict[str, float]:
        """Return the scores by name at .5."""
        return self.compute_at(USUAL_THRESHOLD)

    def compute_at(self, threshold: float) -> dict[str, float]:
        """Return the scores by name at one of the thresholds."""
        place = self.thresholds.index(threshold)
        return {name: float(values[place]) for name, values in self.compute_at_thresholds().items()}


def tabulate_pairs(pairs: npt.NDArray[np.int64], names: Sequence[str]) -> dict[str, Any]:
    """Return the scores of each label as a results file holds them, from the pairs of a `LabelPairs`.

    Args:
        pairs: (n, 3) true label, predicted label, number of rows.
        names: Names of the labels.

    Returns:
        `names`, and for each label, in lists, `precision`, `recall` and `f1` in percent and `support`, its number of
        rows; and `confused`, lists of true label, predicted label and number of rows, the most frequent first.
    """
    true, predicted, counts = pairs.T
    sums = [
        np.bincount(labels, counts[chosen], minlength=len(names))
        for labels, chosen in (
            (true, slice(None)),
            (predicted, slice(None)),
            (true[true == predicted], true == predicted),
        )
    ]
    wrong = pairs[true != predicted]
    ordered = wrong[np.argsort(-wrong[:, 2], kind="stable")]
    confused = [[names[one], names[other], number] for one, other, number in ordered.tolist()]
    return {**tabulate_counts(names, *sums), "confused": confused}


def tabulate_counts(names: Sequence[str], support: Any, found: Any, right: Any) -> dict[str, Any]:
    """Return the scores of each label as a results file holds them, from numbers of rows.

    Args:
        names: Names of the L labels.
        support, found, right: (L,) numbers of rows that have a label, that are given it, and both.
    """
    support, found, right = (np.asarray(counts, np.float64) for counts in (support, found, right))
    scores = {
        "precision": 100 * right / np.maximum(found, 1),
        "recall": 100 * right / np.maximum(support, 1),
        "f1": 200 * right / np.maximum(support + found, 1),
    }
    return {
        "names": list(names),
        **{name: values.tolist() for name, values in scores.items()},
        "support": support.astype(int).tolist(),
    }


def choose_unsure_threshold(probabilities: npt.NDArray[np.float64], is_right: npt.NDArray[np.bool_]) -> float | None:
    """Return the probability below which predictions are best told to be wrong, by Youden's J on held-out rows.

    J is the part of the wrong predictions that are below it, minus the part of the right ones that are.

    Args:
        probabilities: (N,) probability of each prediction.
        is_right: (N,) booleans, whether the prediction is right.

    Returns:
        The threshold, or None where all predictions are right, or all are wrong.
    """
    if is_right.all() or not is_right.any():
        return None
    values, numbers = np.unique(probabilities, return_inverse=True)
    wrong, right = (np.bincount(numbers[mask], minlength=len(values)).cumsum() for mask in (~is_right, is_right))
    gain = wrong / wrong[-1] - right / right[-1]  # of a threshold just above each value
    best = int(gain[:-1].argmax()) if len(values) > 1 else 0
    above = values[best + 1] if best + 1 < len(values) else 1.0
    return float((values[best] + above) / 2)
