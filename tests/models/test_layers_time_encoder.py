"""Time encodings as modules, and how they enter an attention: properties 7 to 10 and 12 on one layer of attention."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from ctxzoo.models.layers_time_encoder import (
    BochnerTime,
    LocallyStationaryTime,
    MercerTime,
    SampledBochnerTime,
    Time2VecTime,
    TimeEncoding,
    TimePosition,
    TimeWeight,
)
from ctxzoo.models.ops_time_encoder import bochner_features, lste_kernel, mercer_features

E, L = 6, 7
ENCODINGS: dict[str, Callable[[], TimeEncoding]] = {
    "bochner": lambda: BochnerTime(8),
    "bochner_untied": lambda: BochnerTime(8, tied=False),
    "bochner_sampled": lambda: SampledBochnerTime(8, span=20.0),
    "mercer": lambda: MercerTime(4, harmonics=3),
    "time2vec": lambda: Time2VecTime(8, span=20.0),
    "lste": lambda: LocallyStationaryTime(2, 3, span=20.0),
    "lste_behaviour": lambda: LocallyStationaryTime(2, 3, span=20.0, behaviour_size=E),
}


class TinyAttention(nn.Module):
    """One layer of attention with two heads over vectors and times."""

    def __init__(self, encoding: TimeEncoding, **options: Any) -> None:
        super().__init__()
        self.causal = options["causal"]
        self.position = TimePosition(encoding, hidden_size=E, unit=5.0, **options)
        self.weight = TimeWeight(2, self.position.combine)

    def forward(self, vectors: torch.Tensor, times: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        read, kernel = self.position(vectors, times, mask)
        heads = read.unflatten(-1, (2, -1)).transpose(1, 2)
        scores = heads @ heads.transpose(2, 3) / math.sqrt(E / 2)
        if kernel is not None:
            scores = scores + self.weight(kernel)
        seen = mask[:, None, None, :].expand_as(scores)
        if self.causal:
            seen = seen & torch.ones(L, L, dtype=torch.bool).tril()
        weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(dim=-1)
        return (weights @ heads).transpose(1, 2).flatten(2)


def batch(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(2, L, E, generator=generator)
    times = (torch.rand(2, L, generator=generator, dtype=torch.float64) * 90).sort(dim=1).values.round()
    mask = torch.ones(2, L, dtype=torch.bool)
    mask[1, 5:] = False
    return vectors, times, mask


def stirred(module: nn.Module) -> nn.Module:
    """The module with other parameters than at its start, the heads of behaviour among them."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
    return module.eval()


def layer(name: str, combine: str = "kernel", causal: bool = True, reference: str = "first", **more: Any) -> nn.Module:
    torch.manual_seed(0)
    options = {"combine": combine, "causal": causal, "reference": reference, **more}
    return stirred(TinyAttention(ENCODINGS[name](), **options))


@pytest.mark.parametrize("combine", ["kernel", "multiply", "add", "concat"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_property_7_a_shift_of_a_row_and_a_common_scale_change_nothing(name: str, combine: str) -> None:
    vectors, times, mask = batch()
    one = layer(name, combine)
    expected = one(vectors, times, mask)
    assert torch.equal(one(vectors, times + torch.tensor([[2.0**20], [-64.0]]), mask), expected)
    one.position.unit *= 4
    assert torch.equal(one(vectors, times * 4, mask), expected)
    one.position.unit *= 4
    assert not torch.allclose(one(vectors, times * 4, mask), expected, atol=1e-4)  # times do count


@pytest.mark.parametrize("tied", [True, False])
def test_property_6_after_training_too_tied_frequencies_see_the_gap_alone(tied: bool) -> None:
    encoding = stirred(BochnerTime(16, tied=tied))
    times = torch.tensor([[0.0, 0.4, 1.7, 3.1]], dtype=torch.float64)
    first, later = (encoding.encode_times(times + shift) for shift in (0.0, 5.0))
    change = float((first @ first.mT - later @ later.mT).detach().abs().max())
    assert change < 1e-6 if tied else change > 0.05


@pytest.mark.parametrize("combine", ["kernel", "add"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_logarithms_of_times_are_what_the_encoding_reads(name: str, combine: str) -> None:
    vectors, times, mask = batch()
    times = times - times[:, :1]
    found = layer(name, combine, causal=False, transform="log")(vectors, times, mask)
    logarithms = torch.log1p(times / 5) * 5  # the layer divides by its unit, 5
    torch.testing.assert_close(found, layer(name, combine, causal=False)(vectors, logarithms, mask))
    assert not torch.allclose(found, layer(name, combine, causal=False)(vectors, times, mask), atol=1e-4)


@pytest.mark.parametrize("combine", ["kernel", "add"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", ENCODINGS)
def test_autocast_leaves_times_in_single(name: str, causal: bool, combine: str) -> None:
    vectors, times, mask = batch()
    times = 1000 * times  # of which bfloat16 knows no phase
    position = layer(name, combine, causal).position
    exact = position(vectors, times, mask)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = position(vectors, times, mask)
    if combine == "kernel":
        torch.testing.assert_close(mixed[1], exact[1])
    else:  # the projection alone is one of autocast
        torch.testing.assert_close(mixed[0].float(), exact[0], atol=0.03, rtol=0.03)


@pytest.mark.parametrize("combine", ["kernel", "multiply", "add", "concat"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_property_9_later_events_and_times_leave_earlier_outputs_alone(name: str, combine: str) -> None:
    references = ["first"] + ["last"] * (name.startswith("lste") and combine in ("kernel", "multiply"))
    for reference in references:
        one = layer(name, combine, reference=reference)
        vectors, times, mask = batch()
        expected = one(vectors, times, mask)
        other_vectors, other_times = vectors.clone(), times.clone()
        other_vectors[0, 4:] += 1
        other_times[0, 4:] += torch.tensor([1.0, 20.0, 400.0], dtype=torch.float64)
        found = one(other_vectors, other_times, mask)
        assert torch.equal(found[0, :4], expected[0, :4])
        assert not torch.allclose(found[0, 4:], expected[0, 4:], atol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_property_8_behaviour_starts_as_the_model_without_it_bit_for_bit(causal: bool) -> None:
    with_it, without = (
        TinyAttention(ENCODINGS[name](), combine="kernel", causal=causal, reference="last")
        for name in ("lste_behaviour", "lste")
    )
    assert torch.equal(with_it(*batch()), without(*batch()))


def test_property_8_two_users_then_differ_and_padding_is_no_behaviour() -> None:
    encoding = ENCODINGS["lste_behaviour"]()
    assert isinstance(encoding, LocallyStationaryTime)
    position = TimePosition(encoding, combine="kernel", hidden_size=E, unit=5.0, causal=False)
    vectors, times, mask = batch()
    times = times[:1].expand(2, -1)
    alike = position(vectors, times, mask)[1]
    assert torch.equal(alike[0, :5, :5], alike[1, :5, :5])
    stirred(position)
    kernel = position(vectors, times, mask)[1]
    assert not torch.allclose(kernel[0, :5, :5], kernel[1, :5, :5], atol=1e-3)
    vectors[1, 5:] = 100.0
    assert torch.equal(position(vectors, times, mask)[1], kernel)


def test_property_9_the_last_position_is_the_same_from_its_own_time_as_from_the_last_of_the_row() -> None:
    vectors, times, mask = batch()
    causal = layer("lste_behaviour", reference="last")
    whole = layer("lste_behaviour", reference="last", causal=False)
    assert torch.allclose(causal(vectors, times, mask)[0, -1], whole(vectors, times, mask)[0, -1], atol=1e-5)


def test_property_10_the_pairwise_kernel_is_the_product_of_the_features() -> None:
    vectors, times, mask = batch()
    pairs = layer("lste", causal=True).position(vectors, times, mask)[1]
    whole = layer("lste", causal=False).position(vectors, times, mask)[1]
    assert (pairs - whole).abs().max() < 1e-5


@pytest.mark.parametrize("name", ENCODINGS)
def test_property_12_the_order_of_equal_times_does_not_matter(name: str) -> None:
    vectors, times, mask = batch()
    times[0, 2] = times[0, 1]
    one = layer(name, causal=False)
    swapped = [0, 2, 1, 3, 4, 5, 6]
    expected = one(vectors, times, mask)
    found = one(vectors[:, swapped], times[:, swapped], mask[:, swapped])
    assert torch.allclose(found[0], expected[0, swapped], atol=1e-6)


@pytest.mark.parametrize("name", ENCODINGS)
def test_padding_and_its_times_change_nothing(name: str) -> None:
    vectors, times, mask = batch()
    for causal in (False, True):
        one = layer(name, causal=causal)
        expected = one(vectors, times, mask)[1, :5]
        other = times.clone()
        other[1, 5:] = math.nan
        assert torch.equal(one(vectors, other, mask)[1, :5], expected)


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_parameter_has_a_finite_gradient(name: str) -> None:
    one = layer(name).train()
    one(*batch()).square().sum().backward()
    for parameter in one.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()
        assert parameter.grad.abs().max() > 0


def test_sampled_frequencies_are_drawn_in_training_and_fixed_in_evaluation() -> None:
    encoding = SampledBochnerTime(64, span=20.0)
    tau = torch.linspace(0, 9, 5, dtype=torch.float64).unsqueeze(0)
    assert not torch.equal(encoding.encode_times(tau), encoding.encode_times(tau))
    encoding.eval()
    assert torch.equal(encoding.encode_times(tau), encoding.encode_times(tau))
    assert torch.allclose((encoding.encode_times(tau) ** 2).sum(dim=-1), torch.ones(1, 5), atol=1e-5)


def test_the_start_of_lste() -> None:
    parameters = LocallyStationaryTime(4, 16, span=100.0).local_parameters()
    assert torch.allclose(parameters.alpha, torch.full((4,), (4 / 100) ** 2), rtol=1e-4)
    assert parameters.gamma.tolist() == [0.0] * 4
    assert parameters.centre.tolist() == pytest.approx([12.5, 37.5, 62.5, 87.5])
    assert parameters.weights.sum().item() == pytest.approx(1)
    assert parameters.frequencies[0, 0].item() == pytest.approx(2 * math.pi / 100, rel=1e-5)
    assert parameters.frequencies[3, -1].item() == pytest.approx(2 * math.pi, rel=1e-5)
    backwards = LocallyStationaryTime(4, 16, span=100.0, backwards=True)
    assert backwards.local_parameters().centre.tolist() == pytest.approx([-12.5, -37.5, -62.5, -87.5])


ELAPSED = torch.rand(1, 200, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3e6


@pytest.mark.parametrize(
    "encoding", [BochnerTime(64), MercerTime(64), Time2VecTime(16, span=3e6)], ids=["bochner", "mercer", "time2vec"]
)
def test_features_of_millions_of_units_are_those_in_double(encoding: TimeEncoding) -> None:
    wide = copy.deepcopy(encoding).double()
    with torch.no_grad():  # the same float32 frequencies and periods
        if isinstance(encoding, Time2VecTime):
            expected = wide.encode_times(ELAPSED)
        elif isinstance(encoding, MercerTime):
            periods = (10.0**encoding.exponents).double()
            expected = mercer_features(ELAPSED, periods, wide.weights, wide.bias)
        else:
            frequencies = (10.0**-encoding.sine_exponents).double()
            expected = bochner_features(ELAPSED, frequencies, frequencies, wide.beta.repeat(2))
        found = encoding.encode_times(ELAPSED)
    assert found.dtype == torch.float32
    assert (found - expected).abs().max() < 1e-5


def test_long_spans_take_exact_angles() -> None:
    assert not LocallyStationaryTime(2, 3, span=215.0).exact_angles
    encoding = LocallyStationaryTime(2, 3, span=1e6)
    assert encoding.exact_angles
    times = torch.tensor([[0.0, 1.0, 250_000.25, 700_000.5, 999_999.75]], dtype=torch.float64)
    mask, vectors = torch.ones(1, 5, dtype=torch.bool), torch.zeros(1, 5, E)
    kernels = [
        TimePosition(encoding, combine="kernel", hidden_size=E, unit=1.0, causal=causal)(vectors, times, mask)[1]
        for causal in (True, False)
    ]
    assert (kernels[0] - kernels[1]).abs().max() < 1e-5


def test_frequencies_of_angles_in_single_precision_are_bounded() -> None:
    encoding = LocallyStationaryTime(2, 3, span=200.0)
    with torch.no_grad():
        encoding.log_frequencies += 6.0
    parameters = encoding.local_parameters()
    assert float(parameters.frequencies.detach().max()) == pytest.approx(50.0)
    gaps = torch.linspace(0, 200, 300, dtype=torch.float64).view(1, 1, -1)
    zero = torch.zeros_like(gaps)
    quick, exact = (lste_kernel(gaps, zero, parameters, exact=exact) for exact in (False, True))
    assert (quick - exact).abs().max() < 1e-3


@pytest.mark.parametrize("name", ENCODINGS)
def test_half_precision_weights_give_the_features_of_these_weights(name: str) -> None:
    half = stirred(ENCODINGS[name]()).bfloat16()
    single = ENCODINGS[name]().eval()
    single.load_state_dict(half.state_dict())
    tau = torch.linspace(0, 20, 40, dtype=torch.float64).unsqueeze(0)
    with torch.no_grad():
        found, expected = half.encode_times(tau), single.encode_times(tau)
    assert found.dtype == torch.float32
    assert (found - expected).abs().max() < 1e-3


def test_alpha_is_bounded_and_so_is_theta() -> None:
    encoding = LocallyStationaryTime(2, 3, span=20.0)
    weight = TimeWeight(2, "kernel")
    assert torch.allclose(weight.head_weights(), torch.ones(2), atol=1e-6)
    with torch.no_grad():
        encoding.alpha.fill_(1e4)
        encoding.gamma.fill_(1e4)
        weight.weight.fill_(1e4)
    assert encoding.local_parameters().alpha.tolist() == [10.0, 10.0]
    assert encoding.local_parameters().gamma.tolist() == [0.25, 0.25]
    assert weight.head_weights().tolist() == [20.0, 20.0]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bochner", {"reference": "last", "combine": "kernel"}),
        ("lste", {"reference": "last", "combine": "add"}),
    ],
)
def test_a_causal_encoder_measures_no_times_by_later_events(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="measures the times of a causal encoder by events that its positions do not"):
        TimePosition(ENCODINGS[name](), hidden_size=E, unit=1.0, causal=True, **options)


def test_kernel_factors_are_those_of_the_whole_history() -> None:
    vectors, times, mask = batch()
    position = layer("lste_behaviour", causal=True).position
    kernel, power, gaps = position.compute_kernel_factors(vectors, times, mask)
    assert power.shape == gaps.shape == (2, L, L, 2)
    assert torch.allclose((power * gaps).sum(dim=-1)[0], kernel[0], atol=1e-5)
    with pytest.raises(ValueError, match="a BochnerTime has no factors K1 and K2"):
        layer("bochner").position.compute_kernel_factors(vectors, times, mask)
