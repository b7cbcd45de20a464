"""Intervals of split conformal prediction: the order statistic that they are, what they cover, and bad levels."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ctxzoo.models.ops_kernel_encoder_intervals import find_half_width, select_interval_errors


@pytest.mark.parametrize("number", [9, 40, 999, 5000])
def test_new_targets_are_covered_as_often_as_asked(number: int) -> None:
    """Of exponential errors, over draws of the held-out rows: at least the level, and at most 1 / (n + 1) above it."""
    draws = np.random.default_rng(0)
    for level in (50, 90) if number < 99 else (50, 90, 99):
        covered = []
        for _ in range(400):
            errors = torch.from_numpy(draws.exponential(size=number) * draws.choice([-1, 1], size=number))
            half_width = find_half_width(select_interval_errors(errors), level)
            covered.append(1 - math.exp(-half_width))  # the share of all new errors
        deviation = math.sqrt(level / 100 * (1 - level / 100) / number / 400)
        assert level / 100 - 4 * deviation < np.mean(covered) < level / 100 + 4 * deviation + 1 / min(number + 1, 1000)


def test_a_half_width_is_an_order_statistic() -> None:
    errors = torch.tensor([3.0, -1.0, 2.0, 0.5, -4.0, 6.0, -5.0, 8.0, -7.0])
    kept = select_interval_errors(errors)
    assert kept == [0.5, 1, 2, 3, 4, 5, 6, 7, 8]
    assert [find_half_width(kept, level) for level in (10, 50, 70, 70.001, 90)] == [0.5, 4, 6, 7, 8]
    many = torch.linspace(0, 1, 20_000, dtype=torch.float64)
    thousandths = select_interval_errors(many)
    assert len(thousandths) == 999
    for level in (5.0, 90.0, 99.9):
        whole = many[math.ceil(20_001 * level / 100) - 1].item()
        assert find_half_width(thousandths, level) == pytest.approx(whole, abs=1e-12)
    assert find_half_width(thousandths, 90.01) >= many[math.ceil(20_001 * 0.9001) - 1]  # never less than of all errors


@pytest.mark.parametrize(
    ("level", "message"),
    [
        (0, "expected a share above 0 and below 100"),
        (100, "expected a share above 0 and below 100"),
        (float("nan"), "expected a share above 0 and below 100"),
        (91, "errors of 9 held-out rows, which vouch for 90 % at most"),
    ],
)
def test_a_level_that_cannot_be(level: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_half_width([float(value) for value in range(9)], level)
