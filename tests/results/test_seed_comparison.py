"""Two models over their seeds, against the test by hand."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from ctxzoo.results.result import RunResult
from ctxzoo.results.seed_comparison import compare_seeds, format_seeds_cell
from tests.support.result_tables import make_run

NLL = "test/nll"


def runs(*scores: float, **changes: object) -> list[RunResult]:
    return [make_run(seed=seed, metrics={NLL: score}, **changes) for seed, score in enumerate(scores)]


def test_it_is_welchs() -> None:
    ours, theirs = [8.1, 8.3, 8.6], [8.9, 9.0]
    variances = [0.19 / 3, 0.005]  # sample variances 0.0633 and 0.005
    parts = [variances[0] / 3, variances[1] / 2]
    t = (sum(ours) / 3 - sum(theirs) / 2) / math.sqrt(sum(parts))
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 1)
    found = compare_seeds(runs(*ours), runs(*theirs), NLL)
    assert found.difference == pytest.approx(sum(ours) / 3 - sum(theirs) / 2)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(t), freedom))


def test_equal_scores_of_all_seeds() -> None:
    assert compare_seeds(runs(1.0, 1.0), runs(1.0, 1.0), NLL).p == 1.0
    assert compare_seeds(runs(1.0, 1.0), runs(2.0, 2.0), NLL).p == 0.0


def test_one_seed_is_no_test() -> None:
    assert format_seeds_cell(runs(8.0), runs(9.0, 9.5), NLL, 3) == "-1.250 (one seed)"
    with pytest.raises(ValueError, match="1 and 2 runs; a test over seeds needs two or more"):
        compare_seeds(runs(8.0), runs(9.0, 9.5), NLL)


def test_other_data_are_not_compared() -> None:
    assert format_seeds_cell(runs(8.0, 8.1), runs(8.0, 8.2, data={"source": "x", "fingerprint": "other"}), NLL) == "–"
    assert format_seeds_cell([], runs(8.0), NLL) == "–"
