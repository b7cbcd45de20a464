"""Which words a classifier attends to, with weights that are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from reports.attended_words import find_top_words, read_occurrences

WORDS = ["[PAD]", "oil", "grain", "the"]


class Fixed(nn.Module):
    """Two heads: one looks at the first word alone, the other at all words alike."""

    device = torch.device("cpu")

    def token_weights(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        first = torch.zeros(input_ids.shape)
        first[:, 0] = 1.0
        even = attention_mask / attention_mask.sum(dim=1, keepdim=True)
        return torch.stack([first, even], dim=1)


BATCHES = [
    {
        "input_ids": torch.tensor([[1, 3, 3, 3], [2, 3, 0, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]]),
        "labels": torch.tensor([0, 1]),
    },
    {"input_ids": torch.tensor([[1]]), "attention_mask": torch.tensor([[1]]), "labels": torch.tensor([1])},
]


def test_every_word_with_its_weight_as_a_multiple_of_an_even_share() -> None:
    found = read_occurrences(Fixed(), BATCHES)
    assert found.labels.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert found.ids.tolist() == [1, 3, 3, 3, 2, 3, 1]
    np.testing.assert_allclose(found.weights, [2.5, 0.5, 0.5, 0.5, 1.5, 0.5, 1.0])
    assert found.select_word_weights(1, 1).tolist() == [1.0]


def test_top_words_of_a_label_need_so_many_occurrences() -> None:
    found = read_occurrences(Fixed(), BATCHES)
    assert find_top_words(found, WORDS, 0, count=5, at_least=1) == [("oil", 2.5, 1), ("the", 0.5, 3)]
    assert find_top_words(found, WORDS, 1, count=2, at_least=1) == [("grain", 1.5, 1), ("oil", 1.0, 1)]
    assert find_top_words(found, WORDS, 0, count=5, at_least=2) == [("the", 0.5, 3)]


def test_a_model_without_weights_is_refused() -> None:
    with pytest.raises(ValueError, match="Linear has no attention to words"):
        read_occurrences(nn.Linear(1, 1), BATCHES)
