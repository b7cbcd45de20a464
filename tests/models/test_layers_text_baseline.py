"""The penalty for heads that look at the same words, against naive loops."""

from __future__ import annotations

import pytest
import torch

from ctxzoo.models.layers_text_baseline import ConvolutionEncoder, attention_overlap
from tests.references.text_baseline import reference_attention_overlap


def random_weights(documents: int = 3, heads: int = 4, words: int = 6) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(documents, heads, words, generator=generator, dtype=torch.float64).softmax(dim=2)


def test_equals_the_reference_and_leaves_out_documents_without_words() -> None:
    weights = random_weights()
    expected = reference_attention_overlap(weights)
    torch.testing.assert_close(attention_overlap(weights), expected, rtol=1e-13, atol=0)
    with_empty = torch.cat([weights[:2], torch.zeros(2, 4, 6, dtype=torch.float64), weights[2:]])
    torch.testing.assert_close(attention_overlap(with_empty), expected, rtol=1e-13, atol=0)
    torch.testing.assert_close(reference_attention_overlap(with_empty), expected, rtol=1e-13, atol=0)


def test_it_is_zero_for_orthonormal_rows_and_known_for_equal_ones() -> None:
    assert attention_overlap(torch.eye(5)[[3, 0, 4]].unsqueeze(0)) == 0
    # All on one word: A A^T is full of ones, and m (m - 1) of them are too many.
    assert attention_overlap(torch.eye(5)[[2, 2, 2]].unsqueeze(0)) == 6


def test_without_any_word_it_is_zero_and_so_is_its_gradient() -> None:
    weights = torch.zeros(2, 3, 4, requires_grad=True)
    overlap = attention_overlap(weights)
    assert overlap == 0
    (gradient,) = torch.autograd.grad(overlap, weights)
    assert not gradient.any()
    assert attention_overlap(torch.zeros(2, 3, 0)) == 0


def test_gradients() -> None:
    assert torch.autograd.gradcheck(attention_overlap, (random_weights().requires_grad_(),))


@pytest.mark.parametrize("given", [torch.float16, torch.bfloat16, torch.float32])
def test_mixed_precision_does_not_narrow_it(given: torch.dtype) -> None:
    weights = random_weights(words=50).to(given)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = attention_overlap(weights)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), reference_attention_overlap(weights), rtol=1e-5, atol=0)


def test_the_largest_filter_values_are_the_same_without_shares_and_gradient() -> None:
    torch.manual_seed(0)
    layer = ConvolutionEncoder(6, [2, 4], 5).double()
    lengths = torch.tensor([7, 5, 3, 1, 0])
    mask = torch.arange(7) < lengths.unsqueeze(1)
    x = torch.randn(5, 7, 6).double() * mask.unsqueeze(-1)
    expected = layer(x, mask)[1]
    assert expected[:4].abs().sum(dim=1).min() > 0
    with torch.no_grad():
        tokens, pooled, weights = layer(x, mask, with_weights=False)
        torch.testing.assert_close(pooled, expected.detach())
        assert tokens is x
        assert weights == []


def test_the_product_with_the_widest_window_has_the_gradients_of_the_convolutions() -> None:
    torch.manual_seed(0)
    layer = ConvolutionEncoder(6, [2, 4], 5).double()
    mask = torch.arange(7) < torch.tensor([7, 5, 3, 1, 0]).unsqueeze(1)
    x = (torch.randn(5, 7, 6).double() * mask.unsqueeze(-1)).requires_grad_()
    above = torch.randn(5, 10).double()
    found, expected = (
        torch.autograd.grad((layer(x, mask, with_weights)[1] * above).sum(), [x, *layer.parameters()])
        for with_weights in (False, True)
    )
    torch.testing.assert_close(found, expected)


def test_products_of_words_that_stand_in_several_places_change_nothing() -> None:
    torch.manual_seed(0)
    layer = ConvolutionEncoder(6, [2, 3], 5).double().eval()
    mask = torch.arange(7) < torch.tensor([7, 6, 4, 1, 0]).unsqueeze(1)
    ids = torch.randint(1, 4, (5, 7), dtype=torch.int32)  # at padding too
    x = torch.randn(4, 6).double()[ids] * mask.unsqueeze(-1)
    expected = layer(x, mask)[1].detach()
    with torch.no_grad():
        torch.testing.assert_close(layer(x, mask, with_weights=False, ids=ids)[1], expected)
        layer.train()  # dropout has made each of them another token
        other = torch.randn(5, 7, 6).double() * mask.unsqueeze(-1)
        torch.testing.assert_close(layer(other, mask, with_weights=False, ids=ids)[1], layer(other, mask)[1])
