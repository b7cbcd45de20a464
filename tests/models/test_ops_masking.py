from __future__ import annotations

import pytest
import torch

from ctxzoo.models.ops_inputs import check_mask_without_gaps
from ctxzoo.models.ops_words import mask_logits, masked_max, masked_mean, masked_softmax
from tests.references.masking import reference_masked_softmax, reference_pooling


def random_case(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(4, 5, 6, generator=generator, dtype=torch.float64)
    mask = torch.rand(4, 5, 6, generator=generator) > 0.4
    mask[:, 0] = mask[:, :, 0] = True  # something to choose along either axis
    return logits.to(dtype), mask


@pytest.mark.parametrize("dim", [1, 2])
def test_equals_the_reference_and_explicit_exponentials(dim: int) -> None:
    logits, mask = random_case()
    weights = masked_softmax(logits, mask, dim)
    torch.testing.assert_close(weights, reference_masked_softmax(logits, mask, dim), rtol=0, atol=1e-14)
    row, column = 2, 3
    line = (row, slice(None), column) if dim == 1 else (row, column)
    chosen = logits[line][mask[line]]
    torch.testing.assert_close(weights[line][mask[line]], chosen.exp() / chosen.exp().sum())


def test_masked_places_are_exactly_zero_and_the_rest_sums_to_one() -> None:
    for dtype in (torch.float32, torch.float64):
        logits, mask = random_case(dtype)
        logits[~mask] = 1e30  # what stands there must not matter
        weights = masked_softmax(logits, mask, 2)
        assert (weights[~mask] == 0).all()
        torch.testing.assert_close(weights.sum(2), torch.ones(4, 5, dtype=dtype))


def test_the_mask_is_broadcast() -> None:
    logits, _ = random_case()
    mask = torch.tensor([True, True, False, True, False, False])
    expected = masked_softmax(logits, mask.expand_as(logits), 2)
    assert torch.equal(masked_softmax(logits, mask, 2), expected)


def test_a_row_without_real_places_is_uniform_and_has_no_nan_gradient() -> None:
    logits = torch.randn(2, 4, requires_grad=True)
    weights = masked_softmax(logits, torch.zeros(2, 4, dtype=torch.bool), 1)
    torch.testing.assert_close(weights, torch.full((2, 4), 0.25))
    (gradient,) = torch.autograd.grad((weights**2).sum(), logits)
    assert torch.equal(gradient, torch.zeros(2, 4))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_narrow_floats_are_widened(given: torch.dtype, expected: torch.dtype) -> None:
    masked = mask_logits(torch.zeros(3, dtype=given), torch.tensor([True, False, True]))
    assert masked.dtype == expected
    assert masked.tolist() == [0.0, torch.finfo(expected).min, 0.0]


def test_gradients() -> None:
    logits, mask = random_case()
    logits = logits[:2, :3].requires_grad_()
    torch.autograd.gradcheck(lambda x: masked_softmax(x, mask[:2, :3], 2), logits)


def test_words_after_padding_are_refused_by_their_place() -> None:
    check_mask_without_gaps(torch.tensor([[1, 1, 1], [1, 0, 0], [0, 0, 0]], dtype=torch.bool))
    check_mask_without_gaps(torch.zeros(2, 0, dtype=torch.bool))
    for row, place in (([1, 0, 1, 0], 2), ([0, 1, 1, 1], 1)):
        mask = torch.tensor([[1, 1, 1, 0], row], dtype=torch.bool)
        with pytest.raises(
            ValueError, match=f"a word at row 1, position {place}, after padding; .* padded on the right"
        ):
            check_mask_without_gaps(mask)


MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]], dtype=torch.bool)


def random_tokens(dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(3, 4, 5, generator=generator, dtype=torch.float64) - 3).to(dtype)  # below 0, as padding is not


def test_equal_the_reference() -> None:
    x = random_tokens()
    mean, maximum = reference_pooling(x, MASK)
    torch.testing.assert_close(masked_mean(x, MASK)[0], mean, rtol=0, atol=1e-14)
    torch.testing.assert_close(masked_max(x, MASK)[0], maximum, rtol=0, atol=0)


def test_what_stands_at_padding_does_not_count() -> None:
    x = random_tokens()
    other = torch.where(MASK.unsqueeze(-1), x, torch.full_like(x, 50.0))
    for pool in (masked_mean, masked_max):
        for one, changed in zip(pool(x, MASK), pool(other, MASK), strict=True):
            assert torch.equal(one, changed)


def test_weights_of_the_tokens() -> None:
    x = torch.tensor([[[5.0, 0.0, 1.0, 2.0], [1.0, 3.0, 0.0, 1.0], [9.0, 9.0, 9.0, 9.0]]])
    mask = torch.tensor([[True, True, False]])
    assert masked_max(x, mask)[1].tolist() == [[0.75, 0.25, 0.0]]
    assert masked_mean(x, mask)[1].tolist() == [[0.5, 0.5, 0.0]]
    shares = masked_max(random_tokens(), MASK)[1]
    torch.testing.assert_close(shares.sum(dim=1), torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64))


@pytest.mark.parametrize("pool", [masked_mean, masked_max])
def test_no_tokens_at_all_gives_zeros(pool: object) -> None:
    pooled, weights = pool(torch.randn(2, 0, 3), torch.ones(2, 0, dtype=torch.bool))  # type: ignore[operator]
    assert torch.equal(pooled, torch.zeros(2, 3))
    assert weights.shape == (2, 0)


def test_the_maximum_of_half_precision_is_exact() -> None:
    x = random_tokens(torch.bfloat16)
    pooled = masked_max(x, MASK)[0]
    assert pooled.dtype == torch.bfloat16
    assert torch.equal(pooled.double(), reference_pooling(x, MASK)[1])
