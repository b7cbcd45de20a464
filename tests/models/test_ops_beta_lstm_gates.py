"""The gates of the Beta-LSTM against the numbers and properties of its specification."""

from __future__ import annotations

import math

import pytest
import torch

from ctxzoo.models.configuration_beta_lstm import GAMMAS
from ctxzoo.models.ops_beta_lstm_gates import (
    CELLS,
    compute_gamma_ratios,
    compute_gates,
    draw_gammas,
    draw_gumbel_noise,
    draw_log_uniform,
    draw_noisin_scale,
    estimate_gate_correlation,
    gamma_kl_divergence,
    kumaraswamy_means,
    shapes_from_preactivations,
    transform_to_kumaraswamy,
)

EPS = 1e-3
BETA_CELLS = ("beta", "bibeta3", "bibeta5")
DRAWS = 200_000

# Measured with 6 million draws, standard error at most 0.0005.
CORRELATIONS = [
    ("bibeta5", (1, 1, 1, 1, 1), 0.5, 0.5, -0.2285),
    ("bibeta5", (0.5, 0.5, 0.5, 0.5, 0.5), 0.5, 0.5, -0.2185),
    ("bibeta5", (1, 1, 0.05, 0.05, 2), 0.3387, 0.3387, 0.312),
    ("bibeta5", (3, 3, 0.01, 0.01, 3), 0.5, 0.5, 0.491),
    ("bibeta5", (0.05, 0.05, 2, 2, 0.05), 0.5, 0.5, -0.961),
    ("bibeta5", (0.01, 0.01, 3, 3, 0.01), 0.5, 0.5, -0.995),
    ("bibeta5", (2, 1, 0.5, 1.5, 0.7), 0.5319, 0.6757, -0.1485),
    ("bibeta3", (1, 1, 1), 0.5, 0.5, 0.479),
    ("bibeta3", (0.5, 0.5, 0.5), 0.5, 0.5, 0.455),
    ("bibeta3", (2, 1, 0.3), 0.7692, 0.8696, 0.660),
    ("beta", (2, 1, 0.5, 1.5), 2 / 3, 0.25, 0.0),
]


def blocks_of(alpha: tuple[float, ...]) -> torch.Tensor:
    """Pre-activations (1, K, 1) whose shapes are alpha."""
    shapes = torch.tensor(alpha, dtype=torch.float64) - EPS
    return torch.log(torch.expm1(shapes)).view(1, -1, 1)


def ordered(cell: str, pair: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The gates i and f of a pair (..., 2, H)."""
    first, second = pair.unbind(-2)
    return (first, second) if CELLS[cell].input_first else (second, first)


def ratios(cell: str, weights: torch.Tensor) -> torch.Tensor:
    return compute_gamma_ratios(CELLS[cell], weights)


def drawn(cell: str, alpha: tuple[float, ...], number: int = DRAWS) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    shapes = torch.tensor(alpha, dtype=torch.float64).view(1, -1, 1).expand(number, -1, 1)
    i, f = ordered(cell, ratios(cell, draw_gammas(shapes, generator) + EPS))
    return i.flatten(), f.flatten()


def test_the_cells_have_the_gammas_that_the_configuration_says() -> None:
    assert {name: cell.blocks for name, cell in CELLS.items() if cell.has_gamma_gates} == dict(GAMMAS)


def test_property_1_means_of_the_worked_example() -> None:
    i, f = ordered("bibeta5", compute_gates("bibeta5", blocks_of((2, 1, 0.5, 1.5, 0.7)), EPS))
    assert i.item() == pytest.approx(0.5319148936, abs=1e-10)
    assert f.item() == pytest.approx(0.6756756757, abs=1e-10)


@pytest.mark.parametrize("cell", BETA_CELLS)
def test_property_1_at_zero_both_gates_are_one_half(cell: str) -> None:
    zero = torch.zeros(1, CELLS[cell].blocks, 3, dtype=torch.float64)
    assert shapes_from_preactivations(zero, EPS)[0, 0, 0].item() == pytest.approx(0.6941471806, abs=1e-10)
    torch.testing.assert_close(compute_gates(cell, zero, EPS), torch.full((1, 2, 3), 0.5, dtype=torch.float64))


@pytest.mark.parametrize(("cell", "alpha", "mean_i", "mean_f", "correlation"), CORRELATIONS)
def test_property_2_means_and_correlations_of_draws(
    cell: str, alpha: tuple[float, ...], mean_i: float, mean_f: float, correlation: float
) -> None:
    i, f = drawn(cell, alpha)
    assert i.mean().item() == pytest.approx(mean_i, abs=0.005)
    assert f.mean().item() == pytest.approx(mean_f, abs=0.005)
    assert torch.corrcoef(torch.stack([i, f]))[0, 1].item() == pytest.approx(correlation, abs=0.012)


@pytest.mark.parametrize(("cell", "sign"), [("bibeta3", 1), ("beta", 0)])
def test_property_2_the_sign_of_the_correlation_for_any_shapes(cell: str, sign: int) -> None:
    generator, number = torch.Generator().manual_seed(11), 5_000
    alpha = torch.empty(1, CELLS[cell].blocks, 60).uniform_(math.log(0.1), math.log(10), generator=generator).exp()
    found = estimate_gate_correlation(cell, alpha, EPS, number, generator)
    if sign:
        assert found.min() > 0
    else:
        assert found.abs().max() < 5 / math.sqrt(number)


def test_correlation_estimate_agrees_with_the_measured_one() -> None:
    alpha = torch.tensor([[1, 1, 0.05, 0.05, 2], [0.05, 0.05, 2, 2, 0.05]]).unsqueeze(-1).expand(2, 5, 400)
    found = estimate_gate_correlation("bibeta5", alpha, EPS, 300, torch.Generator().manual_seed(1))
    assert found.shape == (2, 400)
    assert found.mean(dim=1).tolist() == pytest.approx([0.312, -0.961], abs=0.02)


def test_correlation_of_gates_that_do_not_vary_is_zero() -> None:
    alpha = torch.full((1, 5, 2), 1e9)
    assert estimate_gate_correlation("bibeta5", alpha, EPS, 1).tolist() == [[0.0, 0.0]]


def test_property_3_three_gammas_are_a_limit_of_five() -> None:
    u1, u2, u5 = torch.rand(3, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64) + 0.1
    nothing = torch.zeros(4, dtype=torch.float64)
    five = ordered("bibeta5", ratios("bibeta5", torch.stack([u1, u2, nothing, nothing, u5])))
    three = ordered("bibeta3", ratios("bibeta3", torch.stack([u2, u1, u5])))
    torch.testing.assert_close(five, three)


def test_property_3_the_coupled_gates_are_a_limit_of_five() -> None:
    weights = torch.tensor([0.0, 0.0, 3.0, 5.0, 0.0], dtype=torch.float64).view(5, 1)
    i, f = ordered("bibeta5", ratios("bibeta5", weights))
    assert i.item() == pytest.approx(3 / 8, abs=1e-15)
    assert (i + f).item() == pytest.approx(1.0, abs=1e-15)
    sums = []
    for size in (1.0, 100.0, 10_000.0):
        weights = torch.tensor([2.0, 1.0, 3 * size, 5 * size, 0.7], dtype=torch.float64).view(5, 1)
        i, f = ordered("bibeta5", ratios("bibeta5", weights))
        sums.append(abs((i + f).item() - 1))
    assert sums[0] > 10 * sums[1] > 100 * sums[2]
    assert sums[2] < 1e-4


def test_property_4_swapping_the_gammas_swaps_the_gates() -> None:
    weights = torch.rand(5, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    i, f = ordered("bibeta5", ratios("bibeta5", weights))
    swapped = ordered("bibeta5", ratios("bibeta5", weights[[1, 0, 3, 2, 4]]))
    torch.testing.assert_close(swapped, (f, i))


@pytest.mark.parametrize(
    ("alpha", "prior", "expected"),
    [(0.5, 0.5, 0.0), (1, 0.5, 0.28375711), (2, 0.5, 1.206541446), (0.1, 0.5, 2.489154267), (1, 2, 0.577215665)],
)
def test_property_5_divergence(alpha: float, prior: float, expected: float) -> None:
    pair = torch.tensor([alpha, prior], dtype=torch.float64)
    assert gamma_kl_divergence(pair[0], pair[1]).item() == pytest.approx(expected, abs=1e-8)


def test_divergence_of_large_shapes_is_off_by_thousandths_in_single() -> None:
    alpha, prior = torch.tensor(1e4), torch.tensor(0.5)
    exact = gamma_kl_divergence(alpha.double(), prior.double())
    error = abs(float(gamma_kl_divergence(alpha, prior).double() - exact))
    assert error < 0.02  # a difference of terms of the size of alpha ln alpha, 92,000


def test_property_5_divergence_is_never_negative() -> None:
    shapes = torch.logspace(-3, 3, 60, dtype=torch.float64)
    assert gamma_kl_divergence(shapes.unsqueeze(0), shapes.unsqueeze(1)).min() >= -1e-9


@pytest.mark.parametrize(("alpha", "measured"), [(0.001, 0.989), (0.01, 0.995), (0.1, 0.997), (1, 0.998), (50, 1.000)])
def test_property_6_mean_derivative_of_a_gamma_draw_is_one(alpha: float, measured: float) -> None:
    shapes = torch.full((DRAWS,), float(alpha), dtype=torch.float64, requires_grad=True)
    draws = draw_gammas(shapes, torch.Generator().manual_seed(7))
    (slopes,) = torch.autograd.grad(draws.sum(), shapes)
    bound = max(0.02, 5 * float(slopes.std()) / math.sqrt(DRAWS))
    assert slopes.mean().item() == pytest.approx(measured, abs=bound)


def test_property_6_gradient_of_the_mean_gate() -> None:
    alpha = torch.tensor([2, 1, 0.5, 1.5, 0.7], dtype=torch.float64)
    shapes = alpha.view(1, 5, 1).expand(DRAWS, 5, 1).clone().requires_grad_()
    i, _ = ordered("bibeta5", ratios("bibeta5", draw_gammas(shapes, torch.Generator().manual_seed(9))))
    (gradient,) = torch.autograd.grad(i.sum(), shapes)
    a, b = 2 + 0.5, 1.5 + 0.7
    slopes = gradient[:, 0, 0]
    error = 5 * float(slopes.std()) / math.sqrt(DRAWS)
    assert slopes.mean().item() == pytest.approx(b / (a + b) ** 2, abs=error)
    assert error < 0.01


def test_property_8_gates_lie_strictly_inside() -> None:
    generator = torch.Generator().manual_seed(4)
    for cell in BETA_CELLS:
        blocks = 30 * torch.randn(2000, CELLS[cell].blocks, 2, generator=generator)
        draws = draw_gammas(shapes_from_preactivations(blocks, EPS), generator)
        for pair in (compute_gates(cell, blocks, EPS, draws), compute_gates(cell, blocks, EPS)):
            assert 0 < pair.min() <= pair.max() < 1, cell
    blocks = 30 * torch.randn(2000, 4, 2, generator=generator)
    for noise in (None, draw_log_uniform((2000, 2, 2), blocks, generator)):
        pair = compute_gates("kumaraswamy", blocks, EPS, noise)
        assert 0 < pair.min() <= pair.max() < 1


def test_property_11_a_saturated_gate_stays_below_one() -> None:
    blocks = torch.zeros(1000, 5, 1)
    blocks[:, 0], blocks[:, 3:] = 50, -50
    draws = draw_gammas(shapes_from_preactivations(blocks, EPS), torch.Generator().manual_seed(6))
    i, _ = ordered("bibeta5", compute_gates("bibeta5", blocks, EPS, draws))
    assert i.max() < 1
    assert (i > 0.998).float().mean() > 0.99  # a draw of U4 or U5 is rarely far from 0
    mean, _ = ordered("bibeta5", compute_gates("bibeta5", blocks[:1], EPS))
    assert 0.998 < mean.item() < 1


@pytest.mark.parametrize(("alpha", "part"), [(0.01, 0.42), (0.001, 0.92)])
def test_ratios_of_tiny_draws_are_numbers(alpha: float, part: float) -> None:
    shapes = torch.full((5000, 5, 1), alpha, requires_grad=True)
    draws = draw_gammas(shapes, torch.Generator().manual_seed(8))
    assert float(draws.min()) == pytest.approx(1.18e-38, rel=0.01)  # torch's floor
    assert float((draws < 1.2e-38).float().mean()) == pytest.approx(part, abs=0.02)
    pair = ratios("bibeta5", draws + EPS)
    assert pair.isfinite().all()
    assert torch.autograd.grad(pair.sum(), shapes)[0].isfinite().all()


def test_the_constant_on_draws_is_not_on_means() -> None:
    alpha = torch.tensor([0.002, 0.004, 0.001, 0.003, 0.005], dtype=torch.float64)
    i, _ = ordered("bibeta5", compute_gates("bibeta5", blocks_of(tuple(alpha.tolist())), EPS))
    assert i.item() == pytest.approx(3 / 11, abs=1e-9)


@pytest.mark.parametrize(("a", "b"), [(0.7, 0.7), (2.0, 5.0), (8.0, 0.5), (0.2, 3.0)])
def test_kumaraswamy_draws_have_their_mean_and_distribution(a: float, b: float) -> None:
    shapes = torch.tensor([a, b, b, a], dtype=torch.float64).view(1, 4, 1).expand(DRAWS, 4, 1)
    noise = draw_log_uniform((DRAWS, 2, 1), shapes, torch.Generator().manual_seed(3))
    i, f = transform_to_kumaraswamy(shapes, noise).unbind(1)
    means = kumaraswamy_means(shapes[:1])
    error = 5 * 0.5 / math.sqrt(DRAWS)
    assert i.mean().item() == pytest.approx(means[0, 0].item(), abs=error)
    assert f.mean().item() == pytest.approx(means[0, 1].item(), abs=error)
    for x in (0.1, 0.5, 0.9):
        assert (i < x).double().mean().item() == pytest.approx(1 - (1 - x**a) ** b, abs=error)
    assert abs(torch.corrcoef(torch.cat([i, f], dim=1).T)[0, 1].item()) < 0.01


def test_kumaraswamy_gradients_equal_differences() -> None:
    generator = torch.Generator().manual_seed(2)
    shapes = torch.rand(40, 4, 3, generator=generator, dtype=torch.float64) * 3 + 0.2
    noise = draw_log_uniform((40, 2, 3), shapes, generator)
    shapes.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: transform_to_kumaraswamy(x, noise), shapes)
    assert torch.autograd.gradcheck(kumaraswamy_means, shapes)


def test_gumbel_noise_hits_a_fifth_of_the_gates() -> None:
    like = torch.zeros((), dtype=torch.float64)
    noise = draw_gumbel_noise((50, 40, 2, 30), like, torch.Generator().manual_seed(1))
    noisy = noise[noise != 0]
    assert (noise != 0).double().mean().item() == pytest.approx(0.2, abs=0.005)
    # Uniform draws through log(u + e) - log(1 + e - u) stay within log(1 + 1/e) of 0; half lie within log(3).
    assert noisy.abs().max() <= math.log(1 + 1 / 1e-3)
    assert (noisy.abs() < math.log(3)).double().mean().item() == pytest.approx(0.5, abs=0.01)
    assert not ((noise != 0) == (noise[0] != 0)).all()  # each step draws anew which gates have it


def test_noisin_keeps_the_mean_of_states() -> None:
    scale = draw_noisin_scale((100, 20, 50), torch.zeros(()), torch.Generator().manual_seed(1))
    assert sorted(scale.unique().tolist()) == pytest.approx([0.0, 1 / 0.41])
    assert scale.mean().item() == pytest.approx(1.0, abs=0.02)
