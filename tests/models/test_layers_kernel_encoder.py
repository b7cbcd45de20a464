"""Attention as a kernel: the properties of IKA, IKAN and MIKAN, each with its number in the specification."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
import torch

from ctxzoo.models import layers_kernel_encoder
from ctxzoo.models.configuration_kernel_encoder import KernelEncoderConfig
from ctxzoo.models.layers_encoder import DotAttention
from ctxzoo.models.layers_kernel_encoder import (
    DirectKernel,
    ImplicitKernelAttention,
    KernelAttention,
    RbfKernel,
    SpectralDensity,
    build_kernel_attention,
    initial_frequency_variance,
    running_mean_query_and_key,
)
from ctxzoo.models.modeling_kernel_encoder import KernelEncoderModel
from ctxzoo.models.ops_encoder import make_visibility_mask, rbf_log_kernel, softmax_attention, squared_norm
from ctxzoo.models.ops_kernel_encoder import (
    apply_odd_network,
    copula_factor,
    correlate_noise_of_heads,
    frequency_features,
    frequency_kl_divergence,
    log_squared_product,
)
from tests.references.encoder import reference_attend, reference_kernel_attention
from tests.references.kernel_encoder import reference_log_kernel

QUERY = torch.tensor([1, -0.5, 0.25, 2], dtype=torch.float64).view(1, 1, 1, 4)
KEYS = torch.tensor([[0.3, 0.8, -1, 0.5], [0, 0, 0, 0], QUERY.flatten().tolist()], dtype=torch.float64).view(1, 1, 3, 4)
EYE = torch.eye(3, dtype=torch.float64).view(1, 1, 3, 3)  # values that show the weights
TABLE = {  # p -> key magnitudes, attention
    0.5: ((24.59077197, 0, 42.99399348), (2.275e-9, 0, 1 - 2.275e-9)),
    1.0: ((1.69, 0, 3.515625), (0.034503, 0.00754622, 0.95795078)),
    1.8: ((0.56133867, 0, 1.44563587), (0.07995358, 0.0540607, 0.86598572)),
    2.0: ((0.495, 0, 1.328125), (0.08324091, 0.06014383, 0.85661526)),
    3.0: ((0.35105532, 0, 1.09292561), (0.08906562, 0.0743154, 0.83661898)),
}


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def some_mask() -> torch.Tensor:
    """Four keys of six in the first text, and none in the second."""
    return torch.tensor([[True, False, True, True, False, True], [False] * 6])


def density(**options: Any) -> SpectralDensity:
    """A density of three heads, in float64, whose means and correlations are not those of its start."""
    torch.manual_seed(5)
    network = SpectralDensity(3, 4, 8, start_variance=initial_frequency_variance(2.0), **options)
    with torch.no_grad():
        for layer in network.modules():
            if isinstance(layer, torch.nn.Linear):
                torch.nn.init.kaiming_uniform_(layer.weight, a=0.2)
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
        if network.copula_strength is not None:
            network.copula_strength.add_(1)
    return network.double().eval()


def plain_density(**options: Any) -> SpectralDensity:
    """A density whose frequencies are its noise: the networks behind it are the identity."""
    network = density(**options)
    with torch.no_grad():
        for net in network.nets:
            for layer in net.children():
                layer.weight.copy_(torch.eye(4))
                layer.bias.zero_()
        network.log_factor.zero_()
    return network


def implicit(**options: Any) -> ImplicitKernelAttention:
    return ImplicitKernelAttention(density(**options), 2.0, 1.8).double().eval()


ANY = ("dot", "rbf", "direct", "ika", "mikan")


def attention_of(name: str, **fields: Any) -> Any:
    """Attention whose density, where it has one, has left its start, at which the summary does not count."""
    torch.manual_seed(6)
    kind = {"attention": "ikan", "kernel": "direct", "p_norm": 1.8} if name == "direct" else {"attention": name}
    config = KernelEncoderConfig(hidden_size=12, num_heads=3, position="none", **{"num_features": 8, **kind, **fields})
    attention = build_kernel_attention(config, 0).double().eval()
    with torch.no_grad():
        for weight in getattr(attention, "kernel", torch.nn.Module()).parameters() if name in ("ika", "mikan") else ():
            weight.add_(0.3 * torch.randn(weight.shape))
    return attention


# 4. Test vectors and properties


def test_property_1_the_example_factorises() -> None:
    dots = (QUERY @ KEYS.transpose(-1, -2) / 2).flatten()
    torch.testing.assert_close(dots, torch.tensor([0.325, 0, 2.65625]).double())
    exponents = rbf_log_kernel(QUERY, KEYS, 2.0).flatten()
    torch.testing.assert_close(exponents, torch.tensor([-1.498125, -1.328125, 0]).double())
    magnitudes = (squared_norm(QUERY, 2.0) + squared_norm(KEYS, 2.0)).flatten() / 4
    torch.testing.assert_close(magnitudes, torch.tensor([1.823125, 1.328125, 2.65625]).double())
    expected = torch.tensor([0.08324091, 0.06014383, 0.85661526], dtype=torch.float64)
    for attention in (DotAttention(), KernelAttention(RbfKernel(2.0), 2.0)):
        output, aux = attention(QUERY, KEYS, EYE, output_attentions=True)
        for found in (output, aux.weights):  # without a table of all pairs, and with it
            torch.testing.assert_close(found.flatten(), expected, rtol=0, atol=5e-9)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_property_1_rbf_and_l2_are_dot_products(causal: bool, dtype: torch.dtype) -> None:
    query, key, value = (drawn(2, 3, 6, 4, seed=seed).to(dtype) for seed in range(3))
    for mask in (None, some_mask()):
        kernel = KernelAttention(RbfKernel(2.0), 2.0)(query, key, value, mask, causal, output_attentions=True)
        dot = DotAttention()(query, key, value, mask, causal, output_attentions=True)
        torch.testing.assert_close(kernel[0], dot[0], rtol=0, atol=1e-6)
        for name in ("weights", "similarity", "importance"):
            torch.testing.assert_close(getattr(kernel[1], name), getattr(dot[1], name), rtol=0, atol=1e-6)


@pytest.mark.parametrize("p_norm", TABLE)
@pytest.mark.filterwarnings("ignore:p_norm=0.5")
def test_property_2_the_table_of_norms(p_norm: float) -> None:
    magnitudes, weights = (torch.tensor(row, dtype=torch.float64) for row in TABLE[p_norm])
    attention = KernelAttention(RbfKernel(2.0), 2.0, p_norm)
    output, aux = attention(QUERY, KEYS, EYE, output_attentions=True)
    torch.testing.assert_close(aux.importance.flatten(), magnitudes, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(output.flatten(), weights, rtol=0, atol=5e-12 if p_norm == 0.5 else 1e-8)


@pytest.mark.filterwarnings("ignore:p_norm=0.5")
def test_property_2_the_entropy_of_the_example_grows_with_p_and_norms_do_not() -> None:
    entropies = []
    for p_norm in (0.5, 1.0, 1.8, 2.0, 3.0):
        weights = KernelAttention(RbfKernel(2.0), 2.0, p_norm)(QUERY, KEYS, EYE)[0].flatten()
        entropies.append(float(-torch.special.xlogy(weights, weights).sum()))
        assert (squared_norm(KEYS, p_norm) > squared_norm(KEYS, p_norm + 0.5))[..., [0, 2]].all()
    assert entropies == pytest.approx([4.75e-8, 0.19419, 0.48432, 0.50858, 0.55781], rel=1e-2)
    assert entropies == sorted(set(entropies))


@pytest.mark.parametrize("name", ["rbf", "direct", "stationary"])
def test_property_3_the_gram_matrix_is_a_kernel(name: str) -> None:
    torch.manual_seed(0)
    kernel = (RbfKernel(2.0) if name == "rbf" else DirectKernel(1, 4, 16, 2.0)).double()
    with torch.no_grad():
        for parameter in kernel.parameters():
            parameter.mul_(torch.rand_like(parameter) + 0.5)
        if name == "stationary":
            kernel.second.copy_(kernel.first)
    x = drawn(1, 1, 9, 4)
    with torch.no_grad():
        gram = kernel(x, x).exp()[0, 0]
        shifted = kernel(x + 0.7, x + 0.7).exp()[0, 0]
    torch.testing.assert_close(gram, gram.T)
    assert torch.linalg.eigvalsh(gram).min() >= -1e-6
    assert gram.min() >= 0
    assert gram.max() <= 1 + 2e-5
    assert torch.allclose(shifted, gram) == (name != "direct")
    assert torch.allclose(gram.diagonal(), torch.ones(9).double(), atol=2e-5) == (name != "direct")


@pytest.mark.parametrize("stationary", [False, True])
def test_property_3_drawn_kernels_are_kernels_too(stationary: bool) -> None:
    frequencies = density()(drawn(2, 3, 1, 8, seed=1))
    first = frequencies.first.squeeze(2)
    second = first if stationary else frequencies.second.squeeze(2)
    x = drawn(2, 3, 7, 4, seed=2)
    features = frequency_features(x, first, second)
    gram = log_squared_product(features, features).exp()
    torch.testing.assert_close(gram, gram.transpose(-1, -2))
    assert torch.linalg.eigvalsh(gram).min() >= -1e-6
    assert gram.max() <= 1 + 2e-5
    assert torch.allclose(gram.diagonal(dim1=-2, dim2=-1), torch.ones(1).double(), atol=2e-5) == stationary
    moved = frequency_features(x + 0.7, first, second)
    assert torch.allclose(log_squared_product(moved, moved).exp(), gram, atol=1e-9) == stationary


def test_property_4_many_frequencies_give_the_rbf_kernel() -> None:
    generator = torch.Generator().manual_seed(1)
    query, key = torch.randn(2, 1, 1, 1, 16, generator=generator) * 0.6
    scale = 4.0
    expected = float(rbf_log_kernel(query, key, scale).exp())
    errors = []
    for number, repeats in ((400, 200), (40_000, 20), (1_000_000, 1)):
        squares = []
        for _ in range(repeats):
            first = torch.randn(1, number, 16, generator=generator) * math.sqrt(initial_frequency_variance(scale))
            product = frequency_features(query, first, first) @ frequency_features(key, first, first).transpose(-1, -2)
            squares.append((float(product.square()) - expected) ** 2)
        errors.append(math.sqrt(sum(squares) / repeats))
    assert errors[-1] < 0.002
    assert 6 < errors[0] / errors[1] < 16  # ten times as exact with a hundred times as many


def test_property_5_magnitudes_of_queries_cancel() -> None:
    energy, value = drawn(2, 3, 5, 6), drawn(2, 3, 6, 4, seed=1)
    visible = make_visibility_mask(some_mask(), 5, 6, False, energy.device)
    plain = softmax_attention(energy, value, visible)[0]
    torch.testing.assert_close(softmax_attention(energy + drawn(2, 3, 5, 1, seed=2), value, visible)[0], plain)
    query, key = drawn(2, 3, 6, 4, seed=4), drawn(2, 3, 6, 4, seed=5)
    attention = KernelAttention(RbfKernel(2.0), 2.0, 1.8)
    both = rbf_log_kernel(query, key, 2.0) + attention.log_importance(key).unsqueeze(-2)
    both = both + attention.log_importance(query).unsqueeze(-1)
    everywhere = torch.ones(1, 1, 1, 6, dtype=torch.bool)
    torch.testing.assert_close(attention(query, key, value)[0], softmax_attention(both, value, everywhere)[0])


def test_property_6_the_network_of_frequencies_is_odd() -> None:
    maps = [torch.nn.Linear(4, 4).double() for _ in range(3)]
    z = drawn(5, 4, seed=20)
    torch.testing.assert_close(apply_odd_network(-z, maps), -apply_odd_network(z, maps))
    assert not apply_odd_network(torch.zeros(4).double(), maps).any()


def test_property_6_halves_have_opposite_means_and_mirrored_noise_a_symmetric_set() -> None:
    network, summary = density(), drawn(1, 3, 1, 8)
    with torch.no_grad():
        network.evaluation_noise[1] = -network.evaluation_noise[0]
    positive, negative = network(summary).first.chunk(2, dim=-2)
    assert torch.equal(negative, -positive)
    network = plain_density(copula=True)
    with torch.no_grad():
        network.evaluation_noise[1] = network.evaluation_noise[0]
    positive, negative = network(summary).first.squeeze(2).chunk(2, dim=-2)
    assert not torch.allclose(negative, -positive)
    mean = parts_of(network, summary)[0].unsqueeze(2)
    torch.testing.assert_close((positive - negative) / 2, mean.expand_as(positive))


@pytest.mark.parametrize("copula", [False, True])
def test_property_6_mirrored_noise_gives_mirrored_frequencies_exactly(copula: bool) -> None:
    network = density(copula=copula)
    with torch.no_grad():
        network.evaluation_noise[1] = -network.evaluation_noise[0]
    frequencies = network(drawn(1, 3, 1, 8))
    for each in (frequencies.first, frequencies.second):
        positive, negative = each.chunk(2, dim=-2)
        assert torch.equal(negative, -positive)


def test_property_6_negated_frequencies_give_the_same_kernel() -> None:
    query, key = drawn(2, 3, 5, 4), drawn(2, 3, 6, 4, seed=3)
    first, second = drawn(3, 8, 4, seed=1), drawn(3, 8, 4, seed=2)
    products = [
        frequency_features(query, sign * first, sign * second)
        @ frequency_features(key, sign * first, sign * second).transpose(-1, -2)
        for sign in (1, -1)
    ]
    torch.testing.assert_close(*products)


def test_property_7_without_correlation_heads_are_those_of_ikan() -> None:
    joined = density(copula=True)
    alone = density(copula=False)
    with torch.no_grad():
        joined.copula_strength.zero_()
    of_copula = ("directions", "copula_strength")
    alone.load_state_dict({name: x for name, x in joined.state_dict().items() if not name.startswith(of_copula)})
    summary = drawn(2, 3, 1, 8)
    one, other = joined(summary), alone(summary)
    assert torch.equal(one.first, other.first)
    assert torch.equal(one.second, other.second)
    assert torch.equal(one.divergence, other.divergence)


def test_property_7_the_copula_is_a_correlation_and_keeps_the_marginals() -> None:
    factor = copula_factor(drawn(1, 3, 1, 4).tanh(), torch.ones(4).double())
    correlation = factor @ factor.transpose(-1, -2)
    torch.testing.assert_close(correlation.diagonal(dim1=-2, dim2=-1), torch.ones(1, 1, 4, 3).double())
    assert torch.linalg.eigvalsh(correlation).min() > 0
    assert (correlation - torch.eye(3)).abs().max() > 0.2
    # Directions at their bounds, +1 and -1, leave the heads apart: the factor's diagonal is 3^-1/2 at least.
    extreme = copula_factor(drawn(20, 3, 1, 4).sign(), torch.ones(4).double())
    assert extreme.diagonal(dim1=-2, dim2=-1).min() > 3**-0.5 - 1e-9
    assert torch.linalg.eigvalsh(extreme @ extreme.transpose(-1, -2)).min() > 0.05
    noise = drawn(1, 3, 1, 100_000, 4, seed=7)
    draws = correlate_noise_of_heads(factor, noise)[0, :, 0]  # (h, K, d)
    for dimension in range(4):
        sample = torch.corrcoef(draws[:, :, dimension])
        torch.testing.assert_close(sample, correlation[0, 0, dimension], rtol=0, atol=0.02)
        assert (draws[:, :, dimension].mean(dim=1)).abs().max() < 0.02
        assert (draws[:, :, dimension].std(dim=1) - 1).abs().max() < 0.02


def parts_of(network: SpectralDensity, summary: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return mu, std (B, h, d) and Lhat (B, d, h, h) of a density, by loops over heads."""
    u = torch.nn.functional.leaky_relu(network.summary(summary), 0.2)[:, :, 0]
    t = network.directions(u).tanh()
    strength = network.copula_strength
    rows = []
    for head in range(3):
        row = [
            strength * t[:, head] * t[:, other] if other < head else torch.full_like(t[:, 0], other == head)
            for other in range(3)
        ]
        rows.append(torch.stack(row, dim=-1))
    factor = torch.stack(rows, dim=-2)
    factor = factor / factor.square().sum(dim=-1, keepdim=True).sqrt()
    return network.mean(u), (network.log_deviation(u) + math.log(0.1)).exp(), factor


@torch.no_grad()
def test_property_7_and_8_the_density_joins_its_heads_and_pays_for_it() -> None:
    network, summary = plain_density(copula=True), drawn(2, 3, 1, 8)
    mean, spread, factor = parts_of(network, summary)
    assert (factor @ factor.mT - torch.eye(3)).abs().max() > 0.2
    found = network(summary)
    joined = torch.einsum("bdhg,zgkd->zbhkd", factor, network.evaluation_noise)
    for half, sign in ((0, 1), (1, -1)):
        expected = sign * mean.unsqueeze(2) + spread.unsqueeze(2) * joined[half]
        torch.testing.assert_close(found.first[:, :, 0, 4 * half : 4 * half + 4], expected, rtol=1e-9, atol=1e-12)
    for row in range(2):
        nats = 0.0
        for dimension in range(4):
            scaled = spread[row, :, dimension].diag() @ factor[row, dimension]
            posterior = torch.distributions.MultivariateNormal(mean[row, :, dimension], scaled @ scaled.mT)
            prior = torch.distributions.MultivariateNormal(torch.zeros(3).double(), 0.01 * torch.eye(3).double())
            nats += float(torch.distributions.kl_divergence(posterior, prior))
        assert float(found.divergence[row, 0]) == pytest.approx(nats, rel=1e-6)


@torch.no_grad()
def test_property_7_draws_in_training_have_the_correlation_and_the_marginals() -> None:
    network, summary = plain_density(copula=True).train(), drawn(1, 3, 1, 8)
    network.pairs = 100_000
    torch.manual_seed(3)
    mean, spread, factor = (x[0] for x in parts_of(network, summary))
    halves = network(summary).first[0, :, 0].unflatten(1, (2, -1))  # (h, 2, K, d)
    for half, sign in ((0, 1), (1, -1)):
        for dimension in range(4):
            draws = halves[:, half, :, dimension]
            expected = factor[dimension] @ factor[dimension].mT
            torch.testing.assert_close(torch.corrcoef(draws), expected, rtol=0, atol=0.02)
            off = draws.mean(dim=1) - sign * mean[:, dimension]
            assert (off.abs() < 0.02 * spread[:, dimension]).all()
            torch.testing.assert_close(draws.std(dim=1), spread[:, dimension], rtol=0.02, atol=0)


def test_property_8_the_divergence_is_that_of_normal_distributions() -> None:
    mean, log_deviation = 0.3 * drawn(2, 3, 1, 4), 0.2 * drawn(2, 3, 1, 4, seed=1) - 2
    factor = copula_factor(drawn(2, 3, 1, 4, seed=2).tanh(), torch.ones(4).double())
    found = frequency_kl_divergence(mean, log_deviation, 0.1, factor)
    independent = frequency_kl_divergence(mean, log_deviation, 0.1, None)
    assert (found >= independent).all()
    for row in range(2):
        expected = 0.0
        for dimension in range(4):
            spread = log_deviation[row, :, 0, dimension].exp().diag()
            scaled = spread @ factor[row, 0, dimension]
            posterior = torch.distributions.MultivariateNormal(mean[row, :, 0, dimension], scaled @ scaled.T)
            prior = torch.distributions.MultivariateNormal(torch.zeros(3).double(), 0.01 * torch.eye(3).double())
            expected += float(torch.distributions.kl_divergence(posterior, prior))
        assert float(found[row, 0]) == pytest.approx(expected, rel=1e-4)


def test_property_8_the_divergence_is_zero_at_the_prior_alone() -> None:
    prior = torch.full((1, 3, 1, 4), math.log(0.1), dtype=torch.float64)
    nothing = torch.zeros(1, 3, 1, 4, dtype=torch.float64)
    assert float(frequency_kl_divergence(nothing, prior, 0.1, None)) == pytest.approx(0, abs=1e-12)
    factor = copula_factor(drawn(1, 3, 1, 4).tanh(), torch.ones(4).double())
    assert float(frequency_kl_divergence(nothing, prior, 0.1, factor)) > 0.01
    assert float(frequency_kl_divergence(nothing + 0.05, prior, 0.1, None)) > 0.01
    for shift in (-0.5, 0.5):
        assert float(frequency_kl_divergence(nothing, prior + shift, 0.1, None)) > 0.01
    independent = torch.eye(3, dtype=torch.float64).expand(1, 1, 4, 3, 3)
    assert float(frequency_kl_divergence(nothing, prior, 0.1, independent)) == pytest.approx(0, abs=1e-12)
    for seed in range(100):
        size = 10.0 ** -(seed % 6)
        factor = copula_factor((size * drawn(1, 3, 1, 4, seed=seed)).tanh(), torch.ones(4).double())
        mean, log_deviation = (size * drawn(1, 3, 1, 4, seed=1000 * other + seed) for other in (1, 2))
        assert float(frequency_kl_divergence(mean, prior + log_deviation, 0.1, factor)) >= -1e-12


@pytest.mark.parametrize("copula", [False, True])
def test_property_8_training_starts_at_the_prior_with_frequencies_as_wide_as_intended(copula: bool) -> None:
    """Of examples whose queries and keys are as large as they like."""
    squares = []
    for start in range(20):
        torch.manual_seed(start)
        network = SpectralDensity(
            2, 16, 64, start_variance=initial_frequency_variance(4.0), copula=copula, noise_seed=start
        )
        frequencies = network.train()(10 * drawn(3, 2, 1, 32, seed=start).float())
        assert (frequencies.divergence == 0).all()
        squares.append(torch.stack([frequencies.first, frequencies.second]).square().mean(dim=(1, 2, 3, 4, 5)))
    means = torch.stack(squares).mean(dim=0)
    torch.testing.assert_close(means, torch.full((2,), initial_frequency_variance(4.0)), rtol=0.1, atol=0)


@pytest.mark.parametrize("copula", [False, True])
def test_every_weight_of_the_density_is_trained_though_some_start_at_nothing(copula: bool) -> None:
    torch.manual_seed(0)
    network = SpectralDensity(2, 4, 8, start_variance=initial_frequency_variance(2.0), copula=copula).double().train()
    query, key = drawn(1, 2, 5, 4), drawn(1, 2, 5, 4, seed=1)
    optimizer = torch.optim.Adam(network.parameters(), 0.01)
    for _ in range(2):  # a step to leave the start
        drawn_once = network(drawn(1, 2, 1, 8, seed=2))
        pair = drawn_once.first.squeeze(2), drawn_once.second.squeeze(2)
        optimizer.zero_grad()
        log_squared_product(frequency_features(query, *pair), frequency_features(key, *pair)).sum().backward()
        optimizer.step()
    assert [name for name, weight in network.named_parameters() if not weight.grad.any()] == []


@pytest.mark.parametrize("name", ["direct", "ika", "mikan"])
def test_a_gate_starts_at_dot_products_and_ends_at_the_kernel(name: str) -> None:
    query, key, value = (drawn(2, 3, 6, 4, seed=seed) for seed in range(3))
    attention = attention_of(name, kernel_gate=True, p_norm=2.0)
    found = attention(query, key, value, some_mask())[0]
    torch.testing.assert_close(found, DotAttention()(query, key, value, some_mask())[0])
    with torch.no_grad():
        attention.gate.fill_(1)
    plain = attention_of(name, p_norm=2.0)
    plain.load_state_dict({key: x for key, x in attention.state_dict().items() if key != "gate"})
    torch.testing.assert_close(attention(query, key, value, some_mask())[0], plain(query, key, value, some_mask())[0])


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("name", ["ika", "mikan"])
def test_a_causal_layer_that_makes_its_frequencies_again_has_the_same_gradients(
    name: str, gated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    attention = attention_of(name, causal=True, kernel_gate=gated).train()
    with torch.no_grad():
        for weight in attention.parameters():
            weight.add_(0.1)
    outcomes = []
    for positions in (100, 2):
        monkeypatch.setattr(layers_kernel_encoder, "POSITIONS", positions)
        inputs = drawn(3, 2, 3, 7, 4, seed=4).requires_grad_()
        torch.manual_seed(0)
        output, aux = attention(*inputs, some_mask()[:, [0, 1, 2, 3, 4, 5, 0]], True)
        attention.zero_grad()
        (output.square().sum() + aux.divergence.sum()).backward()
        outcomes.append(
            [output, aux.divergence, inputs.grad, *(weight.grad.clone() for weight in attention.parameters())]
        )
    for whole, in_parts in zip(*outcomes, strict=True):
        torch.testing.assert_close(in_parts, whole)


def test_property_9_evaluation_repeats_itself_and_survives_saving(tmp_path: Any) -> None:
    sizes: dict[str, Any] = {"vocab_size": 30, "word_dim": 8, "hidden_size": 8, "num_heads": 2, "num_features": 8}
    model = KernelEncoderModel(KernelEncoderConfig(**sizes, attention="mikan")).eval()
    ids = torch.tensor([[3, 4, 5, 6]])
    first = model(ids).last_hidden_state
    assert torch.equal(model(ids).last_hidden_state, first)
    noise = [block.attention.attention.kernel.evaluation_noise for block in model.blocks]
    drawn_noise = noise[0].clone()
    noise[0].mul_(1.5)  # what is saved, and not what the seed gives
    changed = model(ids).last_hidden_state
    assert not torch.equal(changed, first)
    model.save_pretrained(tmp_path)
    assert torch.equal(KernelEncoderModel.from_pretrained(tmp_path)(ids).last_hidden_state, changed)
    noise[0].copy_(drawn_noise)
    assert not torch.equal(noise[0], noise[1])  # layers have their own
    another = KernelEncoderModel(KernelEncoderConfig(**sizes, attention="mikan"))
    assert torch.equal(another.blocks[0].attention.attention.kernel.evaluation_noise, noise[0])  # a seed of the config
    model.train()
    assert not torch.equal(model(ids).last_hidden_state, model(ids).last_hidden_state)


def test_property_9_direct_frequencies_draw_nothing() -> None:
    attention = attention_of("direct")
    query, key, value = (drawn(2, 3, 6, 4, seed=seed) for seed in range(3))
    before = torch.get_rng_state()
    outputs = [attention.train(mode)(query, key, value)[0] for mode in (True, False)]
    assert torch.equal(outputs[0], outputs[1])
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ANY)
def test_property_10_order_and_padding(name: str) -> None:
    attention = attention_of(name)
    query, key, value = (drawn(2, 3, 6, 4, seed=seed) for seed in range(3))
    mask = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]).bool()
    output, aux = attention(query, key, value, mask, output_attentions=True)
    assert not aux.weights[0, :, :, 4:].any()
    order = torch.tensor([3, 5, 0, 2, 4, 1])
    moved = attention(query[:, :, order], key[:, :, order], value[:, :, order], mask[:, order])[0]
    torch.testing.assert_close(moved, output[:, :, order], rtol=1e-9, atol=1e-11)
    spoilt = [x.clone() for x in (query, key, value)]
    for x in spoilt:
        x[0, :, 4:] = 77.0
    found = attention(*spoilt, mask)[0]
    torch.testing.assert_close(found[0, :, :4], output[0, :, :4], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ANY)
def test_property_11_the_future_changes_nothing_where_it_must_not_be_read(name: str) -> None:
    attention = attention_of(name)
    query, key, value = (drawn(2, 3, 6, 4, seed=seed) for seed in range(3))
    whole = attention(query, key, value, None, True)[0]
    changed = [x.clone() for x in (query, key, value)]
    for x in changed:
        x[:, :, -1] += 3.0
    found = attention(*changed, None, True)[0]
    assert torch.equal(found[:, :, :-1], whole[:, :, :-1])
    assert not torch.allclose(found[:, :, -1], whole[:, :, -1])
    if name in ("ika", "mikan"):  # and without that the mean over all positions would be read
        leaking = [attention(*each)[0][:, :, :1] for each in ((query, key, value), changed)]
        assert not torch.allclose(*leaking)


@pytest.mark.parametrize("name", ANY)
def test_property_11_reading_in_parts_equals_reading_at_once(name: str) -> None:
    attention = attention_of(name)
    query, key, value = (drawn(2, 3, 6, 4, seed=seed) for seed in range(3))
    mask = torch.tensor([[1, 1, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1]]).bool()
    whole = attention(query, key, value, mask, True)[0]
    state, parts = None, []
    for part in (slice(0, 2), slice(2, 3), slice(3, 6)):
        given = (query[:, :, part], key[:, :, part], value[:, :, part], mask[:, part], True)
        output, aux = attention(*given, state=state, use_cache=True)
        state = aux.state
        parts.append(output)
    torch.testing.assert_close(torch.cat(parts, dim=2), whole, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["ika", "mikan"])
def test_property_10_a_causal_summary_reads_no_padding(name: str) -> None:
    attention = attention_of(name)
    mask = torch.tensor([[1, 1, 0, 1, 0, 1], [0, 0, 1, 1, 1, 1]]).bool()
    given = [drawn(2, 3, 6, 4, seed=seed) for seed in range(3)]
    output, aux = attention(*given, mask, True)
    spoilt = [x.masked_fill(~mask[:, None, :, None], 77.0) for x in given]
    found, again = attention(*spoilt, mask, True)
    real = mask[:, None, :, None].expand_as(output)
    assert torch.equal(found[real], output[real])
    assert torch.equal(again.divergence, aux.divergence)
    summary = running_mean_query_and_key(given[0], given[1], mask, None, None)[0]
    nats = attention.kernel(summary).divergence
    expected = torch.stack([row[places].mean() for row, places in zip(nats, mask, strict=True)])
    torch.testing.assert_close(aux.divergence, expected)


@pytest.mark.parametrize("heads", [2, 4])
def test_property_12_the_number_of_parameters(heads: int) -> None:
    d, features = 12 // heads, 10
    fields = {"hidden_size": 12, "num_heads": heads, "position": "none"}

    def number(**kind: Any) -> int:
        kind = {"num_features": features, **kind}
        return sum(x.numel() for x in build_kernel_attention(KernelEncoderConfig(**fields, **kind), 0).parameters())

    assert number(attention="dot") == number(attention="rbf") == 0
    assert number(attention="ikan", kernel="direct") == 2 * d * heads * features
    one = d * d + d
    implicit_ones = (2 * d * d + d) + 2 * one + 2 * 3 * one
    assert number(attention="ikan") == implicit_ones + heads  # a factor of each head
    assert number(attention="ikan", num_features=24) == implicit_ones + heads
    assert number(attention="mikan") == implicit_ones + one + d + heads  # and a strength of each number


def test_the_scale_is_the_root_of_the_head() -> None:
    attention = attention_of("rbf")
    assert attention.scale == attention.kernel.scale == 2.0
    learned = attention_of("direct", num_features=4000)
    assert float(learned.kernel.first.detach().var()) == pytest.approx(initial_frequency_variance(2.0), rel=0.05)


def test_frequencies_that_are_parameters_start_near_dot_products() -> None:
    torch.manual_seed(0)
    kernel = DirectKernel(1, 4, 20_000, 2.0).double()
    query, key = drawn(1, 1, 5, 4), drawn(1, 1, 6, 4, seed=1)
    expected = rbf_log_kernel(query, key, 2.0).exp()
    torch.testing.assert_close(kernel(query, key).exp(), expected, rtol=0, atol=0.05)


# References


@pytest.mark.parametrize("p_norm", [1.0, 1.8, 2.0, 3.0])
def test_attention_equals_its_reference(p_norm: float) -> None:
    query, key, value = (drawn(2, 3, 6, 4, seed=seed) for seed in range(3))
    mask = some_mask()
    visible = make_visibility_mask(mask, 6, 6, True, query.device)
    attention = KernelAttention(RbfKernel(2.0), 2.0, p_norm)
    similarity = torch.zeros(2, 3, 6, 6, dtype=torch.float64)
    for i in range(6):
        for j in range(6):
            similarity[:, :, i, j] = -(query[:, :, i] - key[:, :, j]).square().sum(-1) / 4
    expected = reference_kernel_attention(similarity, key, value, visible, p_norm, 2.0)
    torch.testing.assert_close(attention(query, key, value, mask, True)[0], expected, rtol=1e-9, atol=1e-11)


def test_learned_kernels_equal_their_reference() -> None:
    torch.manual_seed(0)
    kernel = DirectKernel(2, 4, 5, 2.0).double()
    query, key = drawn(1, 2, 3, 4), drawn(1, 2, 6, 4, seed=1)
    found = kernel(query, key)
    for head in range(2):
        expected = reference_log_kernel(query[0, head], key[0, head], kernel.first[head], kernel.second[head])
        torch.testing.assert_close(found[0, head], expected, rtol=1e-9, atol=1e-9)


def test_drawn_kernels_equal_their_reference() -> None:
    attention = implicit(copula=True)
    query, key, value = (drawn(1, 3, 6, 4, seed=seed) for seed in range(3))
    aux = attention(query, key, value, output_attentions=True)[1]
    summary = torch.cat([query.mean(dim=2, keepdim=True), key.mean(dim=2, keepdim=True)], dim=-1)
    frequencies = attention.kernel(summary)
    assert frequencies.first.shape == (1, 3, 1, 8, 4)
    for head in range(3):
        expected = reference_log_kernel(
            query[0, head], key[0, head], frequencies.first[0, head, 0], frequencies.second[0, head, 0]
        )
        torch.testing.assert_close(aux.similarity[0, head].log(), expected, rtol=1e-9, atol=1e-9)


def test_a_causal_summary_is_the_mean_up_to_each_position() -> None:
    attention = implicit()
    query, key, value = (drawn(1, 3, 5, 4, seed=seed) for seed in range(3))
    aux = attention(query, key, value, None, True, output_attentions=True)[1]
    features = []
    for end in range(1, 6):
        summary = torch.cat([x[:, :, :end].mean(dim=2, keepdim=True) for x in (query, key)], dim=-1)
        drawn_here = attention.kernel(summary)
        frequencies = drawn_here.first.squeeze(2), drawn_here.second.squeeze(2)
        features.append([frequency_features(x[:, :, end - 1 : end], *frequencies) for x in (query, key)])
    of_queries, of_keys = (torch.cat(each, dim=2) for each in zip(*features, strict=True))
    expected = log_squared_product(of_queries, of_keys).exp()
    torch.testing.assert_close(aux.similarity, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("p_norm", [0.5, 1.0, 1.8, 2.0, 3.0, 40.0])
def test_norms_and_their_gradients(p_norm: float) -> None:
    x = drawn(3, 5).requires_grad_()
    torch.testing.assert_close(squared_norm(x, p_norm), torch.linalg.vector_norm(x, p_norm, dim=-1).square())
    torch.autograd.gradcheck(lambda y: squared_norm(y, p_norm), x)


# 5. Bad input and numerical dangers


def test_case_floor_of_the_similarity_is_not_lost() -> None:
    """r = 0 gives log(1e-5), and in bfloat16 queries 1 + 1e-5 is still not 1: energies are those of float32."""
    features = torch.zeros(1, 1, 2, 4)
    torch.testing.assert_close(log_squared_product(features, features), torch.full((1, 1, 2, 2), math.log(1e-5)))
    query, key, value = (drawn(1, 3, 6, 4, seed=seed).bfloat16() for seed in range(3))
    for name in ANY:
        attention = attention_of(name).float()
        aux = attention(query, key, value, output_attentions=True)[1]
        assert {aux.weights.dtype, aux.similarity.dtype, aux.importance.dtype} == {torch.float32}
        with torch.autocast("cpu", dtype=torch.bfloat16):
            inside = attention(query, key, value, output_attentions=True)[1]
        assert torch.equal(inside.weights, aux.weights)
        single = attention(query.float(), key.float(), value.float(), output_attentions=True)[1]
        assert torch.equal(single.weights, aux.weights)


@pytest.mark.parametrize("name", ANY)
def test_case_half_precision_inputs_are_compared_in_single_where_no_weights_are_asked_for(name: str) -> None:
    """Energies of bfloat16 would move the outputs of kernels by .017 to .2; rounding the output alone, by .005."""
    query, key, value = (scale * drawn(1, 3, 6, 4, seed=seed) for seed, scale in enumerate((2, 2, 1)))
    inputs = query.bfloat16(), key.bfloat16(), value.bfloat16()
    attention = attention_of(name).float()
    expected = attention(*(x.float() for x in inputs))[0]
    found = attention(*inputs)[0]
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), expected, rtol=0, atol=0.008)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(attention(*inputs)[0].float(), expected, rtol=0, atol=0.008)


def test_case_phases_of_large_inputs_are_kept() -> None:
    """With 2 pi w'x in the hundreds, features of float32 are within 1e-4 of those of float64."""
    x, first = 30 * drawn(1, 1, 6, 4), drawn(1, 8, 4, seed=1)
    exact, single = frequency_features(x, first, first), frequency_features(x.float(), first.float(), first.float())
    torch.testing.assert_close(single.double(), exact, rtol=0, atol=1e-4)


@pytest.mark.parametrize("p_norm", [0.5, 1.0, 1.8, 2.0, 3.0])
def test_case_gradients_at_zero_are_finite(p_norm: float) -> None:
    x = torch.tensor([[0.0, 0, 0, 0], [0, 1, -2, 0], [1e-9, 1, -2, 1e-7]], dtype=torch.float64, requires_grad=True)
    squared_norm(x, p_norm).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert not x.grad[0].any()
    assert x.grad[1, 0] == x.grad[1, 3] == 0
    if p_norm == 0.5:
        assert x.grad[1].tolist() == pytest.approx([0, 28.21213, -19.94899, 0], rel=1e-5)
    if p_norm != 2:
        assert x.grad[2, 0] == x.grad[2, 3] == 0  # powers next to 0 have slopes of any size


@pytest.mark.parametrize("p_norm", [0, -1.0, math.inf, math.nan])
def test_case_norms_that_are_none_are_refused(p_norm: float) -> None:
    with pytest.raises(ValueError, match=f"p_norm must be above 0 and finite, got {p_norm}"):
        squared_norm(torch.ones(2, 3), p_norm)
    with pytest.raises(ValueError, match="p_norm must be above 0 and finite"):
        KernelAttention(RbfKernel(2.0), 2.0, p_norm)


def test_case_norms_below_one_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"p_norm=0\.5: below 1 the importance of a key grows"):
        KernelAttention(RbfKernel(2.0), 2.0, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for p_norm in (1.0, 2.0):
            KernelAttention(RbfKernel(2.0), 2.0, p_norm)
    one = torch.ones(64, dtype=torch.float64)
    assert float(squared_norm(one, 0.5) / squared_norm(one, 2.0)) == pytest.approx(64**3)


def test_case_half_precision_norms_do_not_overflow() -> None:
    key = torch.full((1, 1, 3, 64), 30.0, dtype=torch.float16)
    key[0, 0, 1] = 40.0
    aux = DotAttention()(key, key, key, output_attentions=True)[1]
    torch.testing.assert_close(aux.importance[0, 0, 0], torch.tensor(64 * 900 / 16.0))
    assert aux.weights.isfinite().all()


@pytest.mark.parametrize("name", ANY)
def test_case_importances_beyond_the_range_of_half_precision(name: str) -> None:
    key = torch.full((1, 3, 3, 4), 200.0, dtype=torch.float16)
    key[:, :, 1] = 300.0
    output, aux = attention_of(name, p_norm=2.0).float()(key, key, key, output_attentions=True)
    assert output.isfinite().all()
    torch.testing.assert_close(aux.importance[0, 0], torch.tensor([40_000.0, 90_000.0, 40_000.0]))


def test_case_rounding_gives_no_similarity_above_one() -> None:
    query = 100 + 1e-3 * torch.randn(1, 1, 50, 8, generator=torch.Generator().manual_seed(0))
    assert (rbf_log_kernel(query, query, 2.0) <= 0).all()


@pytest.mark.parametrize("name", ANY)
def test_case_a_text_without_words_gives_zeros(name: str) -> None:
    attention = attention_of(name)
    query, key, value = (drawn(2, 3, 6, 4, seed=seed).requires_grad_() for seed in range(3))
    mask = torch.tensor([[0] * 6, [1] * 6]).bool()
    for causal in (False, True):
        output = attention(query, key, value, mask, causal)[0]
        assert not output[0].any()
        assert output[1].isfinite().all()
        gradients = torch.autograd.grad(output.square().sum(), (query, key, value))
        assert all(gradient.isfinite().all() for gradient in gradients)


def test_case_a_mask_beats_the_largest_importance() -> None:
    """Padding is put out behind the magnitudes: a padded key of any length has the weight 0."""
    key = drawn(1, 1, 3, 4).float()
    key[0, 0, 2] = 1e4
    mask = torch.tensor([[True, True, False]])
    attention = KernelAttention(RbfKernel(2.0), 2.0)
    output, aux = attention(key[:, :, :2], key, key, mask, output_attentions=True)
    assert not aux.weights[..., 2].any()
    torch.testing.assert_close(output, attention(key[:, :, :2], key[:, :, :2], key[:, :, :2])[0])


def test_case_deviations_are_bounded() -> None:
    network = density(copula=True)
    for extreme in (1e4, -1e4):
        with torch.no_grad():
            network.log_deviation.bias.fill_(extreme)
        frequencies = network(drawn(1, 3, 1, 8))
        assert frequencies.first.isfinite().all()
        assert frequencies.divergence.isfinite().all()
    network = density(copula=False)  # of 12 numbers
    for extreme, bound in ((1e4, 5.0), (-1e4, -10.0)):
        with torch.no_grad():
            network.log_deviation.weight.zero_()
            network.log_deviation.bias.fill_(extreme)
            network.mean.weight.zero_()
            network.mean.bias.zero_()
        nats = 12 * (math.exp(2 * bound) / 0.01 - 1 + 2 * (math.log(0.1) - bound)) / 2
        assert float(network(drawn(1, 3, 1, 8)).divergence.detach()) == pytest.approx(nats, rel=1e-9)
    follows = torch.tensor([[1.0, 0.0], [1.0, 0.0]], dtype=torch.float64).expand(1, 1, 2, 2, 2)
    nothing = torch.zeros(1, 2, 1, 2, dtype=torch.float64)
    found = float(frequency_kl_divergence(nothing, nothing + math.log(0.1), 0.1, follows))
    assert found == pytest.approx(-2 * math.log(1e-6), rel=1e-9)


def test_case_an_odd_number_of_frequencies_is_refused() -> None:
    for number in (0, 1, 7):
        with pytest.raises(ValueError, match=f"num_features must be even, at least 2: .* got {number}"):
            SpectralDensity(2, 4, number, start_variance=0.1)


def test_case_a_causal_summary_needs_queries_and_keys_of_the_same_positions() -> None:
    with pytest.raises(ValueError, match="2 queries and 6 keys: a causal summary takes both of each position"):
        implicit()(drawn(1, 3, 2, 4), drawn(1, 3, 6, 4), drawn(1, 3, 6, 4), None, True)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", ANY)
def test_requested_weights_are_those_of_the_output_and_change_no_bit_of_it(name: str, causal: bool) -> None:
    attention = attention_of(name, p_norm=1.8)
    query, key, value = (drawn(2, 3, 6, 4, seed=seed).requires_grad_() for seed in range(3))
    output, aux = attention(query, key, value, some_mask(), causal, output_attentions=True)
    plain, nothing = attention(query, key, value, some_mask(), causal)
    assert torch.equal(plain, output)
    assert nothing.weights is None
    listed = aux.weights @ value
    torch.testing.assert_close(output, listed, rtol=1e-9, atol=1e-11)
    inputs = [query, key, value, *(x for x in attention.parameters() if x.requires_grad)]
    of_output, of_weights = (
        torch.autograd.grad(x.square().sum(), inputs, allow_unused=True, retain_graph=True) for x in (output, listed)
    )
    for one, other in zip(of_output, of_weights, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["dot", "rbf", "direct", "ika"])
def test_dropped_weights_are_those_of_the_softmax(name: str) -> None:
    """Where weights are dropped each output is a sum over fewer keys: with values of 1 it is not 1."""
    attention = attention_of(name, attention_dropout=0.5)
    query, key = drawn(1, 3, 6, 4), drawn(1, 3, 6, 4, seed=1)
    ones = torch.ones(1, 3, 6, 1).double()
    torch.testing.assert_close(attention(query, key, ones)[0], ones)
    assert (attention.train()(query, key, ones)[0] - ones).abs().mean() > 0.1


def test_weights_that_are_seen_by_no_query_are_none() -> None:
    energy, value = drawn(2, 3, 5, 6), drawn(2, 3, 6, 4, seed=1)
    visible = make_visibility_mask(some_mask(), 5, 6, True, energy.device)
    torch.testing.assert_close(softmax_attention(energy, value, visible)[0], reference_attend(energy, value, visible))
    assert not softmax_attention(energy, value, visible)[0][1].any()


@pytest.mark.parametrize("name", ANY)
def test_a_bias_is_added_to_the_logarithm_of_the_similarity(name: str) -> None:
    attention = attention_of(name)
    query, key, value = (drawn(2, 3, 6, 4, seed=seed) for seed in range(3))
    bias = drawn(2, 1, 6, 6, seed=8)
    weights = attention(query, key, value, output_attentions=True)[1].weights
    biased = attention(query, key, value, score_bias=bias, output_attentions=True)[1].weights
    expected = weights * bias.exp()
    torch.testing.assert_close(biased, expected / expected.sum(-1, keepdim=True))
