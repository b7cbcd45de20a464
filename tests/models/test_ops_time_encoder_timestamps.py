"""Timestamps before any encoding: the cases of time_encoding.md, 5, and the time units of 1.1."""

from __future__ import annotations

import math

import pytest
import torch

from ctxzoo.models.ops_time_encoder import check_timestamps, reference_times, relative_times

SECONDS = 1.33e9
TIMES = torch.tensor([[0.0, 10.0, 10.0, 40.0], [5.0, 7.0, -1.0, 1e30]], dtype=torch.float64) + SECONDS
MASK = torch.tensor([[True] * 4, [True, True, False, False]])


def relative(
    timestamps: torch.Tensor,
    mask: torch.Tensor = MASK,
    *,
    unit: float,
    reference: str = "first",
    transform: str = "none",
    ordered: bool = False,
) -> torch.Tensor:
    """Times as a `TimePosition` has them."""
    times = check_timestamps(timestamps, mask, ordered=ordered)
    return relative_times(times, mask, unit, reference, transform)


def test_first_and_last_event_are_0_and_padding_counts_for_nothing() -> None:
    first = relative(TIMES, MASK, unit=10.0)
    assert first.dtype == torch.float64
    assert first.tolist() == [[0.0, 1.0, 1.0, 4.0], [0.0, pytest.approx(0.2), 0.0, 0.0]]
    last = relative(TIMES, MASK, unit=10.0, reference="last")
    assert last.tolist() == [[-4.0, -3.0, -3.0, 0.0], [pytest.approx(-0.2), 0.0, 0.0, 0.0]]
    times = TIMES.clone()
    times[1, 2:] = math.nan
    assert torch.equal(relative(times, MASK, unit=10.0), first)


def test_integers_are_exact() -> None:
    times = torch.tensor([[1_330_000_000_000_000_001, 1_330_000_000_000_000_003]])
    # Beyond 2^53 float64 rounds; milliseconds since 1970 are far below.
    milliseconds = times // 1_000_000
    milliseconds[0, 1] += 1
    assert relative(milliseconds, torch.ones(1, 2, dtype=torch.bool), unit=1.0).tolist() == [[0.0, 1.0]]


def test_float32_timestamps_are_refused() -> None:
    for kind in (torch.float32, torch.bfloat16):
        with pytest.raises(ValueError, match=r"timestamps are torch\.\w+, which cannot hold times"):
            relative(TIMES.to(kind), MASK, unit=1.0)


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_a_time_that_is_no_number_is_named(odd: float) -> None:
    times = TIMES.clone()
    times[0, 2] = odd
    with pytest.raises(ValueError, match=f"row 0, position 2 is {odd}; expected a finite time"):
        relative(times, MASK, unit=1.0)


def test_falling_times_are_refused_where_they_must_not_fall() -> None:
    times = TIMES.clone()
    times[0, 3] -= 35
    with pytest.raises(
        ValueError, match=r"row 0, position 3 is 1330000005\.0, before an earlier event at 1330000010\.0"
    ):
        relative(times, MASK, unit=1.0, ordered=True)
    assert relative(times, MASK, unit=1.0)[0].tolist() == [0.0, 10.0, 10.0, 5.0]
    relative(TIMES, MASK, unit=1.0, ordered=True)  # equal times do not fall


def test_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"timestamps of shape \(2, 3\): expected \(2, 4\)"):
        relative(TIMES[:, :3], MASK, unit=1.0)


def test_compressed_times_keep_their_sign_and_order() -> None:
    tau = relative(TIMES, MASK, unit=10.0, reference="last", transform="log")
    assert tau[0].tolist() == pytest.approx([-math.log(5), -math.log(4), -math.log(4), 0.0])


@pytest.mark.parametrize("reference", ["first", "last"])
def test_property_7_a_shift_and_a_common_scale_change_nothing(reference: str) -> None:
    times = TIMES - SECONDS
    found = relative(times, MASK, unit=8.0, reference=reference)
    shifted = relative(times + 2.0**20, MASK, unit=8.0, reference=reference)
    assert torch.equal(found, shifted)
    # Below 0, where padding is the latest time.
    earlier = relative(times - 2.0**20, MASK, unit=8.0, reference=reference)
    assert torch.equal(found, earlier)
    scaled = relative(times * 1024, MASK, unit=8.0 * 1024, reference=reference)
    assert torch.equal(found, scaled)


@pytest.mark.parametrize("reference", ["first", "last"])
def test_no_events_have_no_times(reference: str) -> None:
    none = torch.zeros(2, 0, dtype=torch.float64)
    assert reference_times(none, none.bool(), reference).tolist() == [[0.0], [0.0]]
    assert relative(none, none.bool(), unit=1.0, reference=reference).shape == (2, 0)
