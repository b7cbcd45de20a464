"""Two models over the examples of a split, against exact values and the usual test."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ctxzoo.results.example_comparison import (
    are_comparable_by_example,
    common_seeds_cell,
    compare_examples,
)
from ctxzoo.results.result import RunResult
from tests.support.result_tables import make_run

KEYS = ("test/nll", "test/steps")
STEPS = [10, 20, 5, 15, 30]
OURS, THEIRS = [80.0, 170.0, 42.0, 118.0, 240.0], [85.0, 181.0, 41.0, 125.0, 251.0]


def runs(*totals: list[float], steps: list[int] = STEPS, **changes: Any) -> list[RunResult]:
    kept = [{KEYS[0]: one, KEYS[1]: list(steps)} for one in totals]
    return [make_run(seed=seed, per_example=one, **changes) for seed, one in enumerate(kept)]


def test_the_p_of_few_examples_counts_every_exchange() -> None:
    found = compare_examples(runs(OURS), runs(THEIRS), *KEYS)
    differences = np.array(OURS) - np.array(THEIRS)  # -5, -11, 1, -7, -11
    assert found.difference == pytest.approx(-33 / 80)  # nats of a step, not the mean of pieces' means
    sums = [abs(float(differences @ np.array(signs))) for signs in product((-1, 1), repeat=5)]
    assert found.p == sum(value >= 33 for value in sums) / 32 == 4 / 32
    assert common_seeds_cell(runs(OURS), runs(THEIRS), *KEYS) == "-0.41 (p = 0.125)"
    assert common_seeds_cell(runs(OURS), runs(THEIRS), *KEYS, digits=3) == "-0.412 (p = 0.125)"
    assert common_seeds_cell(runs(OURS), runs(THEIRS, OURS), *KEYS, 100) == "-41.25 (p = 0.125)"  # seed 0 alone


def test_exchanged_models_change_the_sign_only() -> None:
    there, back = compare_examples(runs(OURS), runs(THEIRS), *KEYS), compare_examples(runs(THEIRS), runs(OURS), *KEYS)
    assert (back.difference, back.p) == (-there.difference, there.p)
    assert compare_examples(runs(OURS), runs(OURS), *KEYS).p == 1.0


def test_many_examples_agree_with_the_t_test_and_are_repeated() -> None:
    draws = np.random.default_rng(3)
    base = draws.normal(100, 20, 80)
    ours, theirs = (base + draws.normal(mean, 5, 80) for mean in (-1.5, 0.0))
    steps = [10] * 80
    pairs = runs(ours.tolist(), steps=steps), runs(theirs.tolist(), steps=steps)
    found = compare_examples(*pairs, *KEYS)
    assert found == compare_examples(*pairs, *KEYS)
    assert found.p == pytest.approx(stats.ttest_rel(ours, theirs).pvalue, rel=0.15)
    assert 0.001 < found.p < 0.2


def test_seeds_are_averaged() -> None:
    shifted = [[value + shift for value in OURS] for shift in (-3.0, 3.0)]
    other = [[value + shift for value in THEIRS] for shift in (2.0, -2.0)]
    assert compare_examples(runs(*shifted), runs(*other), *KEYS) == compare_examples(runs(OURS), runs(THEIRS), *KEYS)


@pytest.mark.parametrize(
    "other",
    [
        [],
        runs(THEIRS, THEIRS),
        runs(THEIRS, steps=[10, 20, 5, 15, 31]),
        runs(THEIRS[:4], steps=STEPS[:4]),
        runs(THEIRS[:4]),
        runs(THEIRS, dataset="another"),
        runs(THEIRS, data={"source": "s", "fingerprint": "ff"}),
        [make_run(seed=0)],
    ],
    ids=["none", "seeds", "steps", "fewer", "not whole", "dataset", "data", "not kept"],
)
def test_what_does_not_compare(other: list[RunResult]) -> None:
    ours = runs(OURS)
    assert are_comparable_by_example(ours, runs(THEIRS), *KEYS)
    for pair in ((ours, other), (other, ours)):
        assert not are_comparable_by_example(*pair, *KEYS)
        if len(other) < 2:
            assert common_seeds_cell(*pair, *KEYS) == "–"
        with pytest.raises(ValueError, match="do not compare: expected runs with the same seeds"):
            compare_examples(*pair, *KEYS)


def test_one_example_is_not_compared() -> None:
    assert not are_comparable_by_example(runs([1.0], steps=[1]), runs([2.0], steps=[1]), *KEYS)
