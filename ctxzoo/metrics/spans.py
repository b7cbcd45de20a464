"""Precision, recall and F1 of spans, such as names: a span is right where its words and its label are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torchmetrics import Metric

from ctxzoo.models.ops_bilstm_tagger import OUTSIDE, POSITIONS, find_spans, recognise_scheme, split_tag
from ctxzoo.models.ops_words import IGNORED


class SpanScores(Metric):
    """Precision, recall and F1 of the spans of a split, over all of them and for each label, in percent.

    Spans are read by the rules of CoNLL's evaluation, as seqeval does: of tags that leave the scheme too. A word that
    does not count is outside. Precision without predicted spans is 0, and so is recall without true ones.

    Args:
        tags: Names of the tags, in the order of their numbers, as in B-PER.
        **kwargs: The options of ``torchmetrics.Metric``.

    Raises:
        ValueError: they are no tags of spans.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    correct: Tensor
    predicted: Tensor
    true: Tensor

    def __init__(self, tags: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if recognise_scheme(tags) is None:
            raise ValueError(f"the tags {list(tags)[:8]} are none of spans; expected O, and B- and I- before labels")
        parts = [split_tag(tag) for tag in tags]
        self.span_labels = sorted({label for _, label in parts if label})
        numbers = {label: number for number, label in enumerate(self.span_labels)}
        self.register_buffer(
            "positions", torch.tensor([POSITIONS[position] for position, _ in parts]), persistent=False
        )
        self.register_buffer("labels", torch.tensor([numbers.get(label, 0) for _, label in parts]), persistent=False)
        self.outside = tags.index(OUTSIDE) if OUTSIDE in tags else None
        for name in ("correct", "predicted", "true"):
            self.add_state(name, torch.zeros(len(numbers), dtype=torch.long), dist_reduce_fx="sum")

    def update(self, predicted: Tensor, true: Tensor, counts: Tensor) -> None:
        """Add sentences.

        Args:
            predicted, true: (B, n) numbers of tags.
            counts: (B, n) booleans, False at padding and at words that do not count.
        """
        found = [self._find_labelled_spans(numbers, counts) for numbers in (predicted, true)]
        (begins, last, labels), (true_begins, true_last, true_labels) = found
        is_right = begins & true_begins & (last == true_last) & (labels == true_labels)
        size = len(self.span_labels)
        self.correct += torch.bincount(labels[is_right], minlength=size)
        self.predicted += torch.bincount(labels[begins], minlength=size)
        self.true += torch.bincount(true_labels[true_begins], minlength=size)

    def compute(self) -> dict[str, float]:
        """Return `span_f1`, `span_precision`, `span_recall` and `spans`, and for each label, as `span_f1_PER`."""
        rows = zip(self.correct.tolist(), self.predicted.tolist(), self.true.tolist(), strict=True)
        of_labels = dict(zip(self.span_labels, rows, strict=True))
        totals = tuple(int(state.sum()) for state in (self.correct, self.predicted, self.true))
        scores = _compute_span_scores(*totals)
        for label, numbers in of_labels.items():
            scores |= {f"{name}_{label}": value for name, value in _compute_span_scores(*numbers).items()}
        return scores

    def _find_labelled_spans(self, numbers: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return `find_spans` of tag numbers (B, n), and the number of the label of each word."""
        known = numbers.clamp(min=0)
        labels = self.labels[known]
        return (*find_spans(self.positions[known] * counts, labels), labels)


def _compute_span_scores(correct: int, predicted: int, true: int) -> dict[str, float]:
    """Return scores in percent from numbers of spans."""
    return {
        "span_f1": 200.0 * correct / max(1, predicted + true),
        "span_precision": 100.0 * correct / max(1, predicted),
        "span_recall": 100.0 * correct / max(1, true),
        "spans": float(true),
    }


def score_spans(
    tags: Sequence[str], predicted: npt.NDArray[np.int64], true: npt.NDArray[np.int64], lengths: Sequence[int]
) -> dict[str, float]:
    """Return the `SpanScores` of sentences; none where tags are none of spans.

    Args:
        tags: Names of the tags.
        predicted, true: (N,) tag numbers of the words of all sentences, one behind the other; below 0: it does not
            count.
        lengths: Number of words of each sentence.
    """
    if recognise_scheme(tags) is None:
        return {}
    scores = SpanScores(tags)
    places = np.cumsum(lengths)[:-1]  # between two sentences stands a word that does not count
    found, wanted = (
        torch.from_numpy(np.insert(numbers, places, IGNORED)).unsqueeze(0) for numbers in (predicted, true)
    )
    scores.update(found, wanted, wanted >= 0)
    return scores.compute()
