from __future__ import annotations

import math

import pytest
import torch

from ctxzoo.models.ops_execution import dropout


@pytest.mark.parametrize("rate", [0.0001, 0.2, 0.5, 0.9])
def test_share_of_zeros_and_the_scale_of_the_rest(rate):
    torch.manual_seed(0)
    n = 1_000_001
    out = dropout(torch.ones(n), rate, training=True)
    assert out.shape == (n,)
    share = (out == 0).double().mean().item()
    # Four standard deviations, and the rounding of the rate to 2^-16.
    assert share == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / n) + 2**-16)
    kept = out[out != 0].unique()
    assert len(kept) == 1
    assert kept.item() == pytest.approx(1 / (1 - rate), rel=2**-16 / (1 - rate))


def test_mean_is_kept_exactly_for_the_rounded_rate():
    torch.manual_seed(0)
    out = dropout(torch.ones(1_000_000), 0.2, training=True)
    scale = out.max().item()
    assert scale == pytest.approx(2**16 / (2**16 - round(0.2 * 2**16)), rel=1e-6)


def test_the_four_values_of_one_draw_are_independent():
    torch.manual_seed(0)
    zeros = (dropout(torch.ones(400_000), 0.3, training=True) == 0).double().view(-1, 4)
    correlation = torch.corrcoef(zeros.T) - torch.eye(4)
    assert correlation.abs().max() < 0.02
    assert (zeros.mean(dim=0) - 0.3).abs().max() < 0.01


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5), (2, 3, 7), (0, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_shape_and_type_stay(shape, dtype):
    out = dropout(torch.randn(shape).to(dtype), 0.5, training=True)
    assert out.shape == shape
    assert out.dtype == dtype


def test_a_strided_input_is_dropped_place_by_place():
    x = torch.arange(1.0, 13).view(3, 4).T
    torch.manual_seed(0)
    out = dropout(x, 0.5, training=True)
    assert ((out == 0) | torch.isclose(out, 2 * x)).all()
    assert 0 < (out == 0).sum() < 12


def test_gradient_goes_where_the_value_went():
    x = torch.ones(1000, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(0)
    out = dropout(x, 0.25, training=True)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())


def test_torchs_seed_decides_the_mask():
    def drawn(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return dropout(torch.ones(100), 0.5, training=True)

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))


def test_nothing_happens_in_evaluation_or_at_rate_zero():
    x = torch.randn(5)
    assert dropout(x, 0.9, training=False) is x
    assert dropout(x, 0.0, training=True) is x
