"""Gamma variables drawn and differentiated as whole tensors, beside torch's and SciPy's."""

import pytest
import torch
from scipy import stats

from ctxzoo.models.ops_beta_lstm_gamma import MANY, PIECE, GammaSampler, gamma_slope

SHAPES = (0.01, 0.3, 0.694, 1.0, 4.0, 60.0)


def drawn(alpha: float, number: int = 200_000, seed: int = 0) -> torch.Tensor:
    shapes = torch.full((number,), alpha)
    return GammaSampler(1, shapes, torch.Generator().manual_seed(seed))(shapes)


@pytest.mark.parametrize("alpha", SHAPES)
def test_draws_have_the_distribution(alpha):
    draws = drawn(alpha)
    assert float(draws.min()) > 0
    tiny = torch.finfo(torch.float32).tiny  # what is smaller sits there
    normal = draws[draws > 2 * tiny].double()
    below = stats.gamma(alpha).cdf(2 * tiny)
    assert 1 - len(normal) / len(draws) == pytest.approx(below, abs=0.005)
    given = (stats.gamma(alpha).cdf(normal.numpy()) - below) / (1 - below)  # uniform if the draws are right
    assert stats.kstest(given, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("number", [MANY // 4, MANY, 3 * MANY])
def test_steps_are_independent_and_a_seed_repeats_them(number):
    shapes = torch.full((2, number // 2), 0.694)
    steps = 2 * (PIECE // number) + 3  # more than the noise that is made at once
    first, second = (
        torch.stack([sampler(shapes) for _ in range(steps)])
        for sampler in (GammaSampler(steps, shapes, torch.Generator().manual_seed(7)) for _ in range(2))
    )
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    flat = first.flatten(1).double()
    assert float((flat[1:] == flat[:-1]).double().mean()) == 0
    correlation = torch.corrcoef(flat)
    off_diagonal = correlation[~torch.eye(steps, dtype=torch.bool)]
    assert float(off_diagonal.abs().max()) < 6 / number**0.5


def test_each_element_has_its_own_shape():
    shapes = torch.tensor(SHAPES).repeat(50_000, 1).contiguous()
    draws = GammaSampler(1, shapes, torch.Generator().manual_seed(1))(shapes).double()
    standard_errors = (torch.tensor(SHAPES, dtype=torch.float64) / len(shapes)).sqrt()
    errors = (draws.mean(0) - torch.tensor(SHAPES, dtype=torch.float64)).abs()
    assert bool((errors < 4.5 * standard_errors).all()), errors / standard_errors


@pytest.mark.parametrize(
    ("alpha", "tolerance"),
    [(0.001, 1e-2), *((a, 1e-3) for a in (0.005, 0.05, *SHAPES, 900.0))],
)
def test_derivatives_are_torch_s(alpha, tolerance):
    draws = torch._standard_gamma(
        torch.full((50_000,), alpha).double(), generator=torch.Generator().manual_seed(2)
    ).float()
    draws = draws.clamp(min=torch.finfo(torch.float32).tiny)
    shapes = torch.full_like(draws, alpha)
    reference = torch._standard_gamma_grad(shapes.double(), draws.double())
    slopes = gamma_slope(shapes, draws).double()
    torch.testing.assert_close(slopes, reference, rtol=tolerance, atol=0)
    assert float(slopes.mean() / reference.mean()) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(("alpha", "draw"), [(5e-5, 1e-3), (1.0, 5000.0), (2000.0, 2000.0)])
def test_beyond_the_table_derivatives_are_torch_s_own(alpha, draw):
    shapes, draws = torch.full((MANY,), alpha), torch.full((MANY,), draw)
    expected = torch._standard_gamma_grad(shapes, draws)
    torch.testing.assert_close(gamma_slope(shapes, draws), expected, rtol=0, atol=0)


def test_corners_of_the_table_are_read_inside_it():
    for alpha in (1.2341e-4, 1096.0):
        for draw in (1.2e-38, 6.1e-6, 6.2e-6, 2980.0):
            shapes, draws = torch.full((3,), alpha), torch.full((3,), draw)
            assert bool(gamma_slope(shapes, draws).isfinite().all())


def test_wider_numbers_and_none_at_all():
    shapes = torch.full((MANY,), 0.7, dtype=torch.float64)
    draws = GammaSampler(1, shapes)(shapes)
    assert draws.dtype == torch.float64
    torch.testing.assert_close(gamma_slope(shapes, draws), torch._standard_gamma_grad(shapes, draws), rtol=0, atol=0)
    nothing = torch.empty(0, 5, 3)
    assert GammaSampler(1, nothing)(nothing).shape == gamma_slope(nothing, nothing).shape == nothing.shape
