"""Which words a classifier attends to: every word of a split with its attention, and the top words of each class.

Attention tells where a model looks, not what decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch


@dataclass(frozen=True)
class Occurrences:
    """Every known word of some texts.

    Attributes:
        labels: (N,) label of the text in which each of N word occurrences stands.
        ids: (N,) word id of each occurrence.
        weights: (N,) attention that each occurrence gets, averaged over heads, relative to uniform attention in its
            text (1).
    """

    labels: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]

    def select_word_weights(self, word_id: int, label: int) -> npt.NDArray[np.float64]:
        """Return the attention weights of one word, an entry for each occurrence in texts of one label."""
        weights: npt.NDArray[np.float64] = self.weights[(self.ids == word_id) & (self.labels == label)]
        return weights


def read_occurrences(model: Any, batches: Iterable[Mapping[str, torch.Tensor]]) -> Occurrences:
    """Return the attention to every word of some texts, by a model with a method `token_weights`.

    Args:
        model: Model with a method `token_weights`, which returns (B, heads, n) attention weights for B texts of n
            words; they sum to 1 over the words.
        batches: Batches of B texts with n ids: `input_ids` and `attention_mask` (B, n), and `labels` (B,).

    Raises:
        ValueError: the model has no `token_weights`.
    """
    if not hasattr(model, "token_weights"):
        raise ValueError(f"{type(model).__name__} has no attention to words (token_weights)")
    parts: list[tuple[npt.NDArray[Any], ...]] = []
    model.eval()
    for batch in batches:
        mask = batch["attention_mask"].bool()
        with torch.inference_mode():
            weights = model.token_weights(
                batch["input_ids"].to(model.device), batch["attention_mask"].to(model.device)
            ).cpu()
        multiples = weights.double().mean(dim=1) * mask.sum(dim=1, keepdim=True)
        labels = batch["labels"].unsqueeze(1).expand_as(mask)
        parts.append(tuple(values[mask].numpy() for values in (labels, batch["input_ids"], multiples)))
    return Occurrences(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def find_top_words(
    occurrences: Occurrences, words: Sequence[str], label: int, count: int, at_least: int
) -> list[tuple[str, float, int]]:
    """Return the words with the most attention in the texts of a label, with mean weight and number of occurrences.

    Args:
        occurrences: Word occurrences with their attention, from `read_occurrences`.
        words: Vocabulary, a list indexed by word id.
        label: Number of the label whose texts are considered.
        count: Number of words to return.
        at_least: Least number of occurrences of a word in texts of that label.

    Returns:
        Word, mean weight (a multiple of the even weight) and number of occurrences, the highest weight first.
    """
    of_label = occurrences.labels == label
    ids = occurrences.ids[of_label]
    numbers = np.bincount(ids, minlength=len(words))
    sums = np.bincount(ids, weights=occurrences.weights[of_label], minlength=len(words))
    means = np.where(numbers >= at_least, sums / np.maximum(numbers, 1), -1.0)
    order = [int(index) for index in np.argsort(-means, kind="stable")[:count] if means[index] >= 0]
    return [(words[index], float(means[index]), int(numbers[index])) for index in order]
