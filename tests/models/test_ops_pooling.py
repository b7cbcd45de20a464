from __future__ import annotations

import pytest
import torch

from ctxzoo.models.ops_pooling import masked_max, masked_mean, reference_pooling

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
