from __future__ import annotations

import numpy as np
import pytest
import torch

from ctxzoo.word_vectors.combination import concatenate_word_vectors, fill_word_vectors
from ctxzoo.word_vectors.vectors import WordVectors


def vectors(words: list[str], dim: int, seed: int) -> WordVectors:
    return WordVectors.from_tensor(
        words, torch.randn(len(words), dim, generator=torch.Generator().manual_seed(seed)), "v"
    )


def test_gaps_are_filled_by_the_nearest_linear_map() -> None:
    """Against the normal equations in numpy; the words that both have are in another order."""
    base = vectors([f"w{number}" for number in range(12)], 3, 0)
    other = vectors(["new", *(f"w{number}" for number in reversed(range(4, 12))), "2007"], 2, 1)
    filled = fill_word_vectors(base, other, "filled")
    assert filled.words == [*base.words, "new", "2007"]
    assert torch.equal(filled.vectors[:12], base.vectors)
    x = np.column_stack([other.vectors[1:9].double().numpy(), np.ones(8)])
    y = base.vectors[list(reversed(range(4, 12)))].double().numpy()
    expected = np.column_stack([other.vectors[[0, 9]].double().numpy(), np.ones(2)]) @ np.linalg.solve(x.T @ x, x.T @ y)
    np.testing.assert_allclose(filled.vectors[12:].numpy(), expected, rtol=1e-5)


def test_too_few_words_in_common_are_refused() -> None:
    with pytest.raises(ValueError, match="have 2 words in common; expected more than 2"):
        fill_word_vectors(vectors(["a", "b", "c"], 3, 0), vectors(["a", "b", "d"], 2, 1), "filled")


def test_both_side_by_side() -> None:
    base, other = vectors(["a", "b"], 2, 0), vectors(["c", "a"], 3, 1)
    both = concatenate_word_vectors(base, other, "both")
    assert both.words == ["a", "b", "c"]
    nothing = torch.zeros(1, 3)
    expected = [
        torch.cat([base.vectors[:1], other.vectors[1:]], dim=1),
        torch.cat([base.vectors[1:], nothing], dim=1),
        torch.cat([nothing[:, :2], other.vectors[:1]], dim=1),
    ]
    assert torch.equal(both.vectors, torch.cat(expected))
