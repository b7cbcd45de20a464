from __future__ import annotations

import pytest
import torch

from ctxzoo.models.ops_word_windows import reference_word_windows, window_offsets, word_windows


@pytest.mark.parametrize("window", [1, 2, 5])
@pytest.mark.parametrize("length", [0, 1, 2, 9])
def test_windows_equal_loops(window: int, length: int) -> None:
    generator = torch.Generator().manual_seed(length)
    ids = torch.randint(1, 50, (4, length), generator=generator)
    is_word = torch.rand(4, length, generator=generator) < 0.7
    for found, wanted in zip(
        word_windows(ids, is_word, window), reference_word_windows(ids, is_word, window), strict=True
    ):
        assert found.shape == (4, length, 2 * window)
        assert torch.equal(found, wanted)


def test_columns_of_positions() -> None:
    assert window_offsets(3).tolist() == [-3, -2, -1, 1, 2, 3]
    contexts, present = word_windows(torch.tensor([[7, 8, 9]]), torch.tensor([[True, True, True]]), 2)
    assert contexts[0].tolist() == [[0, 0, 8, 9], [0, 7, 9, 0], [7, 8, 0, 0]]
    assert torch.equal(present, contexts > 0)


def test_what_is_no_word_leaves_a_gap() -> None:
    contexts, present = word_windows(torch.tensor([[7, 1, 9]]), torch.tensor([[True, False, True]]), 1)
    assert contexts[0].tolist() == [[0, 0], [7, 9], [0, 0]]
    assert present[0].tolist() == [[False, False], [True, True], [False, False]]
