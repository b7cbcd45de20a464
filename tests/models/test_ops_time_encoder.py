"""The encodings of time and their kernels: every property of time_encoding.md, 4, that needs no whole model."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from ctxzoo.models.ops_encoder import sinusoids_at_positions
from ctxzoo.models.ops_time_encoder import (
    LocalParameters,
    bochner_features,
    lste_factors,
    lste_features,
    lste_kernel,
    mercer_features,
    reduce_angles,
    running_mean,
    time2vec_features,
    time_scores,
)
from tests.references.time_encoder import concatenated_features, reference_lste_kernel

A, M = 3, 5


def one(**changes: Any) -> LocalParameters:
    """One component and one frequency: omega = 1, w = 1, gamma = c = 0, alpha = 0.5."""
    values: dict[str, Any] = {
        "alpha": [0.5],
        "gamma": [0.0],
        "centre": [0.0],
        "frequencies": [[1.0]],
        "weights": [[1.0]],
    }
    return LocalParameters(
        **{name: torch.tensor(value, dtype=torch.float64) for name, value in (values | changes).items()}
    )


def drawn(components: int = A, seed: int = 0) -> LocalParameters:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    weights = draw(components * M).softmax(dim=0).view(components, M)
    shape = (components,)
    return LocalParameters(
        0.1 * draw(*shape), 0.2 * draw(*shape) - 0.1, 4 * draw(*shape), 5 * draw(components, M), weights
    )


def gram(tau: torch.Tensor, parameters: LocalParameters) -> torch.Tensor:
    features = lste_features(tau.unsqueeze(0), parameters)[0]
    return features @ features.T


# Unsorted, with times that are there twice.
TIMES = torch.tensor([3.5, 0.0, 7.25, 3.5, 1.0, 9.0, 0.0, 6.5], dtype=torch.float64)


def test_property_1_one_component_and_one_frequency() -> None:
    features = lste_features(torch.tensor([[0.0, 1.0]], dtype=torch.float64), one())[0]
    assert features[0].tolist() == [1.0, 0.0]
    expected = math.exp(-0.25)
    assert features[1].tolist() == pytest.approx([expected * math.cos(1), expected * math.sin(1)], abs=1e-15)
    assert float(features[0] @ features[1]) == pytest.approx(0.4207878589, abs=1e-10)
    zero, second = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
    power, gaps = lste_factors(zero, second, one())
    assert power.item() == pytest.approx(math.exp(-0.125), abs=1e-15)
    assert gaps.item() == pytest.approx(math.exp(-0.125) * math.cos(1), abs=1e-15)
    assert lste_kernel(zero, second, one()).item() == pytest.approx(0.4207878589, abs=1e-10)


def test_property_2_the_kernel_is_a_mixture_of_locally_stationary_ones_symmetric_and_positive_semi_definite() -> None:
    for seed in range(5):
        parameters = drawn(seed=seed)
        expected, power, gaps = reference_lste_kernel(TIMES, parameters)
        tau, sigma = TIMES.view(1, -1, 1), TIMES.view(1, 1, -1)
        found = gram(TIMES, parameters)
        assert (found - expected).abs().max() < 1e-10
        assert (lste_kernel(tau, sigma, parameters)[0] - expected).abs().max() < 1e-10
        for one_factor, reference in zip(lste_factors(tau, sigma, parameters), (power, gaps), strict=True):
            assert (one_factor[0] - reference).abs().max() < 1e-10
        assert torch.allclose(found, found.T, atol=1e-14)
        assert torch.linalg.eigvalsh(found).min() >= -1e-9


def test_property_3_without_an_envelope_only_the_gap_counts() -> None:
    parameters = drawn()._replace(alpha=torch.zeros(A).double(), gamma=torch.zeros(A).double())
    found = gram(TIMES, parameters)
    assert (gram(TIMES + 1e6, parameters) - found).abs().max() < 1e-5
    assert torch.allclose(found.diagonal(), torch.ones(len(TIMES)).double(), atol=1e-12)
    with_envelope = drawn()
    assert (gram(TIMES + 1, with_envelope) - gram(TIMES, with_envelope)).abs().max() > 1e-2


def test_property_4_power_peaks_and_the_correlation_depends_on_the_gap_alone() -> None:
    parameters = one(alpha=[0.3], gamma=[0.09], centre=[2.0], frequencies=[[1.3]])
    grid = torch.arange(0, 6, 0.01, dtype=torch.float64)
    power = gram(grid, parameters).diagonal()
    assert grid[power.argmax()].item() == pytest.approx(2.0 + 0.09 / 0.3, abs=0.006)
    for shift in (0.0, 1.7):
        found = gram(TIMES + shift, parameters)
        correlation = found / (found.diagonal().sqrt().outer(found.diagonal().sqrt()))
        gaps = TIMES.view(-1, 1) - TIMES
        assert torch.allclose(correlation, torch.cos(1.3 * gaps), atol=1e-9)


def test_property_5_one_component_moves_in_time_by_a_factor_that_does_not_depend_on_the_gap() -> None:
    alpha, gamma, centre, shift = 0.2, 0.1, 3.0, 1.25
    parameters = one(alpha=[alpha], gamma=[gamma], centre=[centre])
    for gap in (0.1, 0.7, 2.4):
        t, s = (torch.tensor([[2.0 + sign * gap / 2]], dtype=torch.float64) for sign in (1, -1))
        ratio = lste_kernel(t + shift, s + shift, parameters) / lste_kernel(t, s, parameters)
        u = 2.0
        expected = math.exp(2 * gamma * shift - alpha * ((u + shift - centre) ** 2 - (u - centre) ** 2))
        assert ratio.item() == pytest.approx(expected, rel=1e-12)


def test_property_6_tied_frequencies_are_stationary_and_untied_ones_are_not() -> None:
    generator = torch.Generator().manual_seed(0)
    tied, other = (torch.rand(4, generator=generator, dtype=torch.float64) for _ in range(2))
    beta = torch.ones(8, dtype=torch.float64)

    def kernel(sines: torch.Tensor, cosines: torch.Tensor, shift: float) -> torch.Tensor:
        features = bochner_features(TIMES.unsqueeze(0) + shift, sines, cosines, beta)[0]
        return features @ features.T

    expected = torch.cos((TIMES.view(-1, 1, 1) - TIMES.view(-1, 1)) * tied).mean(dim=-1)
    assert torch.allclose(kernel(tied, tied, 0), expected, atol=1e-12)
    assert torch.allclose(kernel(tied, tied, 5), expected, atol=1e-12)
    assert (kernel(tied, other, 5) - kernel(tied, other, 0)).abs().max() > 0.1


def test_property_10_concatenated_features_are_the_explicit_scores_and_theta_0_is_no_time() -> None:
    generator = torch.Generator().manual_seed(1)
    query, key = (torch.randn(2, 3, 6, 4, generator=generator) for _ in range(2))
    features = torch.randn(2, 6, 10, generator=generator)
    theta = torch.tensor([0.0, 0.7, 3.0])
    kernel = features @ features.transpose(1, 2)
    expected = query @ key.transpose(2, 3) / 2 + time_scores(kernel, theta, "kernel")
    joined = concatenated_features(query, key, features, features, theta)
    found = joined[0] @ joined[1].transpose(2, 3) / math.sqrt(joined[0].size(-1))
    assert (found - expected).abs().max() < 1e-5
    assert torch.allclose(found[:, 0], (query @ key.transpose(2, 3) / 2)[:, 0], atol=1e-6)


def test_property_11_sampled_frequencies_approach_the_gaussian_kernel() -> None:
    generator = torch.Generator().manual_seed(2)
    frequencies = torch.randn(1, 4096, generator=generator, dtype=torch.float64)
    parameters = one(alpha=[0.0], frequencies=frequencies.tolist(), weights=[[1 / 4096] * 4096])
    gaps = torch.linspace(0, 4, 33, dtype=torch.float64)
    found = lste_kernel(gaps.view(1, -1, 1), torch.zeros(1, 1, 1, dtype=torch.float64), parameters).flatten()
    assert (found - torch.exp(-(gaps**2) / 2)).abs().max() < 0.05


def test_property_12_equal_times_have_their_component_s_weight_and_no_order() -> None:
    parameters = drawn()
    times = torch.tensor([2.0, 2.0, 5.0], dtype=torch.float64)
    _, gaps = lste_factors(times.view(1, -1, 1), times.view(1, 1, -1), parameters)
    assert torch.allclose(gaps[0, 0, 1], parameters.weights.sum(dim=1), atol=1e-15)
    found = gram(times, parameters)
    assert torch.equal(found[[1, 0, 2]][:, [1, 0, 2]], found)


def test_features_of_the_literature() -> None:
    tau = TIMES.unsqueeze(0)
    periods, bias = torch.tensor([2.0, 30.0]).double(), torch.tensor([0.5, -1.0]).double()
    weights = torch.arange(12).double().view(2, 6) / 10
    found = mercer_features(tau, periods, weights, bias)[0]
    for row, t in enumerate(TIMES.tolist()):
        for d in range(2):
            value = bias[d].item()
            for j in range(1, 4):
                value += weights[d, j - 1].item() * math.sin(j * t / periods[d].item())
                value += weights[d, 2 + j].item() * math.cos(j * t / periods[d].item())
            assert found[row, d].item() == pytest.approx(value, abs=1e-12)
    frequencies, phases = torch.tensor([0.1, 2.0, 3.0]).double(), torch.tensor([0.3, 0.2, -1.0]).double()
    found = time2vec_features(tau, frequencies, phases)[0]
    assert torch.allclose(found[:, 0], 0.1 * TIMES + 0.3)
    assert torch.allclose(found[:, 2], torch.sin(3.0 * TIMES - 1.0))
    positions = sinusoids_at_positions(torch.arange(4).unsqueeze(0), 6, torch.float64)[0]
    assert positions[3, 2].item() == pytest.approx(math.sin(3 / 10000 ** (2 / 6)))
    assert positions[3, 5].item() == pytest.approx(math.cos(3 / 10000 ** (4 / 6)))


def test_large_arguments_keep_their_phase_in_float32() -> None:
    tau = torch.tensor([3_000_000.5, 1.5e7], dtype=torch.float64)
    frequency = torch.tensor([6.0], dtype=torch.float32)
    found = reduce_angles(tau, frequency)
    assert found.dtype == torch.float32
    assert torch.allclose(found.cos().double(), torch.cos(6.0 * tau), atol=1e-6)
    in_float32 = torch.cos(frequency * tau.float())
    assert (in_float32.double() - torch.cos(6.0 * tau)).abs().max() > 1e-2  # what is avoided


def test_long_histories_do_not_overflow_and_vanishing_envelopes_give_almost_0() -> None:
    tau = torch.tensor([[0.0, 1e6]], dtype=torch.float64)
    growing = lste_features(tau, one(alpha=[0.0], gamma=[0.1]))
    assert growing.isfinite().all()
    assert growing.abs().max().item() <= math.exp(5)
    kernel = lste_kernel(tau.unsqueeze(2), tau.unsqueeze(1), one(alpha=[0.0], gamma=[0.1]))
    assert kernel.isfinite().all()
    assert float(kernel.max()) <= math.exp(10) * (1 + 1e-6)
    far = gram(tau[0], one(alpha=[10.0], centre=[-50.0]))
    assert far.abs().max().item() <= math.exp(-39)


def test_half_precision_parameters_give_single_precision_features() -> None:
    parameters = LocalParameters(*(value.to(torch.bfloat16) for value in drawn()))
    assert lste_features(TIMES.unsqueeze(0), parameters).dtype == torch.float32


def test_a_kernel_that_multiplies_is_bounded_below() -> None:
    scores = time_scores(torch.tensor([[[-0.3, 0.0, 0.5]]]), torch.ones(1), "multiply")
    assert scores.isfinite().all()
    assert scores[0, 0, 0, 2].item() == pytest.approx(math.log(0.5), abs=1e-5)
    assert scores[0, 0, 0, 0] == scores[0, 0, 0, 1]


def test_the_running_mean_sees_no_later_event_and_no_padding() -> None:
    vectors = torch.tensor([[[1.0], [9.0], [3.0], [5.0]]])
    mask = torch.tensor([[True, False, True, True]])
    assert running_mean(vectors, mask).flatten().tolist() == [1.0, 1.0, 2.0, 3.0]


def test_gradients_of_the_kernel() -> None:
    parameters = [value.clone().requires_grad_() for value in drawn(2)]

    def kernel(*values: torch.Tensor) -> torch.Tensor:
        return lste_kernel(TIMES.view(1, -1, 1), TIMES.view(1, 1, -1), LocalParameters(*values))

    assert torch.autograd.gradcheck(kernel, parameters)


def test_angles_in_single_precision_are_close_where_they_are_moderate() -> None:
    parameters = LocalParameters(*(value.float() for value in drawn()))
    tau, sigma = 100 * TIMES.view(1, -1, 1), 100 * TIMES.view(1, 1, -1)
    quick, exact = (lste_kernel(tau, sigma, parameters, exact=exact) for exact in (False, True))
    assert (quick - exact).abs().max() < 1e-3
