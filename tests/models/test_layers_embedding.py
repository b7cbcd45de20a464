from __future__ import annotations

from typing import Literal

import pytest
import torch

from ctxzoo.models.layers_embedding import PositionEmbedding, WordEmbedding, WordPositionEmbedding
from ctxzoo.models.ops_position import reference_sinusoidal_positions


def test_given_vectors_are_frozen_and_trained_ones_are_not() -> None:
    frozen, trained = WordEmbedding(7, 3, trainable=False), WordEmbedding(7, 3, trainable=True)
    assert not frozen.weight.requires_grad
    assert (frozen.weight[:2] == 0).all()
    assert (frozen.weight[2:] != 0).any(1).all()
    assert trained.weight.requires_grad
    assert (trained.weight[0] == 0).all()
    assert (trained.weight[1] != 0).any()


def test_padding_is_never_trained() -> None:
    words = WordEmbedding(7, 3, trainable=True)
    words(torch.tensor([0, 1, 0, 4])).sum().backward()
    assert words.weight.grad is not None
    assert words.weight.grad.any(1).tolist() == [False, True, False, False, True, False, False]


def test_no_positions_leave_the_input_as_it_is() -> None:
    x = torch.randn(2, 5, 4)
    module = PositionEmbedding("none", 3, 4)
    assert torch.equal(module(x), x)
    assert not list(module.parameters())


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_sinusoids_are_added_with_their_scale(scale: float) -> None:
    x = torch.randn(2, 30, 4, dtype=torch.float64)
    module = PositionEmbedding("sinusoidal", 3, 4, scale)  # longer than max_positions, which is for the table
    torch.testing.assert_close(module(x), x + scale * reference_sinusoidal_positions(30, 4), rtol=0, atol=1e-12)
    assert not list(module.parameters())


def test_learned_rows_are_added_and_only_used_ones_get_gradients() -> None:
    module = PositionEmbedding("learned", 6, 4)
    x = torch.randn(2, 4, 4)
    out = module(x)
    assert torch.equal(out[1, 3], x[1, 3] + module.table[3])
    out.sum().backward()
    assert module.table.grad is not None
    assert torch.equal(module.table.grad, torch.tensor([2.0, 2, 2, 2, 0, 0]).unsqueeze(1).expand(6, 4))


def test_learned_rows_start_like_a_linear_layer() -> None:
    torch.manual_seed(0)
    table = PositionEmbedding("learned", 500, 100).table
    assert 0.099 < table.abs().max() <= 0.1
    assert table.mean().item() == pytest.approx(0, abs=0.001)


def test_input_as_long_as_the_table_passes_and_one_word_more_does_not() -> None:
    module = PositionEmbedding("learned", 6, 4)
    assert module(torch.zeros(1, 6, 4)).shape == (1, 6, 4)
    with pytest.raises(ValueError, match="input of 7 words is longer than max_position_embeddings=6"):
        module(torch.zeros(1, 7, 4))


@pytest.mark.parametrize("kind", ["none", "sinusoidal", "learned"])
def test_words_are_projected_scaled_and_then_placed(kind: Literal["none", "sinusoidal", "learned"]) -> None:
    torch.manual_seed(0)
    words, position = WordEmbedding(9, 6, trainable=False), PositionEmbedding(kind, 8, 4)
    module = WordPositionEmbedding(words, 4, position, dropout=0.5, scale=3.0).eval()
    ids = torch.tensor([[1, 4, 8, 0]])
    expected = position(3.0 * words.weight[ids] @ module.projection.weight.T)
    torch.testing.assert_close(module(ids), expected)


@pytest.mark.parametrize(("kind", "zeros"), [("none", False), ("learned", True)])
def test_a_second_dropout_follows_the_positions(kind: Literal["none", "learned"], zeros: bool) -> None:
    torch.manual_seed(0)
    words, position = WordEmbedding(9, 6, trainable=False), PositionEmbedding(kind, 8, 4)
    module = WordPositionEmbedding(words, 4, position, dropout=0.3)
    out = module(torch.randint(2, 9, (8, 8)))
    # After the projection a value is exactly 0 only if it was dropped itself (or all six inputs were: 0.07 %).
    assert ((out == 0).float().mean().item() > 0.15) == zeros
