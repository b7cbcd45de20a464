from __future__ import annotations

import pytest
import torch

from ctxzoo.models.layers_dropout import SequenceDropout


def kept(variational: bool, rate: float = 0.3) -> torch.Tensor:
    """Dropout of ones: (200, 10, 20)."""
    torch.manual_seed(0)
    out: torch.Tensor = SequenceDropout(rate, variational)(torch.ones(200, 10, 20))
    return out


def test_variational_dropout_has_one_mask_for_all_steps() -> None:
    out = kept(variational=True)
    assert torch.equal(out, out[:, :1].expand_as(out))
    # … which differs between rows and between features.
    assert out[:, 0].std(0).min() > 0
    assert out[:, 0].std(1).min() > 0


def test_ordinary_dropout_has_a_mask_for_each_step() -> None:
    out = kept(variational=False)
    assert (out.std(1) > 0).float().mean() > 0.9


@pytest.mark.parametrize("variational", [True, False])
def test_values_are_scaled_so_that_the_expectation_stays(variational: bool) -> None:
    out = kept(variational)
    assert sorted(set(out.flatten().tolist())) == pytest.approx([0.0, 1 / 0.7], rel=1e-5)
    # 4,000 independent draws at least: a standard error of 0.01.
    assert out.mean().item() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("variational", [True, False])
def test_gradients_follow_the_mask(variational: bool) -> None:
    x = torch.full((3, 4, 5), 2.0, requires_grad=True)
    torch.manual_seed(1)
    out = SequenceDropout(0.5, variational)(x)
    (gradient,) = torch.autograd.grad(out.sum(), x)
    assert torch.equal(gradient, out.detach() / 2)


@pytest.mark.parametrize("variational", [True, False])
def test_nothing_happens_in_evaluation_or_at_rate_zero(variational: bool) -> None:
    x = torch.randn(2, 3, 4)
    assert torch.equal(SequenceDropout(0.9, variational).eval()(x), x)
    assert torch.equal(SequenceDropout(0.0, variational)(x), x)
