"""Results of cross-validations: what counts as one, what may be compared, and the paired test against known values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from ctxzoo.results.comparison import (
    are_scored_on_same_folds,
    compare_models_by_paired_test,
    compute_paired_test,
    format_difference_cell,
    format_score_cell,
    has_all_folds_and_seeds,
)
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import refuse_repeated_runs, refuse_runs_of_different_settings
from tests.support.result_tables import make_folds

OURS, THEIRS = [80.0, 81.5, 79.0, 82.0, 80.5], [79.0, 79.5, 79.5, 80.0, 80.0]


def test_a_cell_says_which_folds_it_lacks() -> None:
    runs = make_folds(OURS)
    assert (format_score_cell(runs, "test/accuracy"), has_all_folds_and_seeds(runs)) == ("80.60 ± 1.19", True)
    assert (format_score_cell(runs[:3], "test/accuracy"), has_all_folds_and_seeds(runs[:3])) == (
        "80.17 ± 1.26 (3 of 5 folds)",
        False,
    )
    seeds = [*runs, *make_folds(THEIRS, seed=1)[:4]]
    assert (format_score_cell(seeds, "test/accuracy")[-15:], has_all_folds_and_seeds(seeds)) == (
        "(9 of 10 folds)",
        False,
    )
    assert not has_all_folds_and_seeds([])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"settings": {"epochs": 3, "dropout": 0.5}},
            "seed 0, fold 4 differs from seed 0, fold 0 in .*epochs, dropout",
        ),
        ({"data": {"source": "x", "fingerprint": "ff"}}, "fold 4 differs from seed 0, fold 0 in data"),
    ],
)
def test_folds_that_are_not_alike_are_refused(changes: dict[str, Any], message: str) -> None:
    runs = make_folds(OURS)
    refuse_runs_of_different_settings(runs)
    refuse_runs_of_different_settings(runs[:1])
    with pytest.raises(ValueError, match=message):
        refuse_runs_of_different_settings([*runs[:4], *make_folds(OURS, **changes)[4:]])


def test_a_fold_counts_once() -> None:
    with pytest.raises(ValueError, match="two results for learned_embeddings on SetFit/CR with seed 0, fold 0"):
        refuse_repeated_runs([*make_folds(OURS), make_folds(THEIRS)[0]])


@pytest.mark.parametrize(
    "other",
    [
        make_folds(THEIRS)[:4],
        make_folds(THEIRS, seed=1),
        make_folds(THEIRS, dataset="SetFit/subj"),
        make_folds(THEIRS, data={"source": "SetFit/CR", "fingerprint": "ff"}),
        make_folds(THEIRS, settings={"folds": 10}),
        [],
    ],
    ids=["fewer", "seed", "dataset", "data", "folds", "none"],
)
def test_models_on_other_folds_are_not_compared(other: list[RunResult]) -> None:
    ours = make_folds(OURS)
    assert are_scored_on_same_folds(ours, make_folds(THEIRS, variant="another", settings={"epochs": 3}))
    assert not are_scored_on_same_folds(ours, other)
    assert not are_scored_on_same_folds(other, ours)
    assert format_difference_cell(ours, other, "test/accuracy") == "–"


def test_one_fold_is_not_compared() -> None:
    assert not are_scored_on_same_folds(make_folds(OURS)[:1], make_folds(THEIRS)[:1])


def test_the_rows_scored_and_trained_on_are_those_of_the_split() -> None:
    ours, theirs = make_folds(OURS), list(reversed(make_folds(THEIRS)))
    scores = dict(enumerate(OURS)), dict(enumerate(THEIRS))
    assert compare_models_by_paired_test(ours, theirs, "test/accuracy") == compute_paired_test(
        *scores, test_to_train=20 / 80
    )
    found = compare_models_by_paired_test(ours, theirs, "validation/accuracy")  # one above the test accuracy in both
    assert found.p == pytest.approx(compute_paired_test(*scores, test_to_train=8 / 72).p)


def test_differences_as_they_are_shown() -> None:
    ours, theirs = make_folds(OURS), make_folds(THEIRS)
    assert format_difference_cell(ours, theirs, "test/accuracy") == "+1.00 (p = 0.233)"
    assert format_difference_cell(theirs, ours, "test/accuracy") == "-1.00 (p = 0.233)"
    assert format_difference_cell(ours, ours, "test/accuracy") == "+0.00 (p = 1.000)"
    better = make_folds([score + 5.0 for score in OURS])
    assert format_difference_cell(better, ours, "test/accuracy") == "+5.00 (p < 0.001)"
    barely = make_folds([score - 0.001 * fold for fold, score in enumerate(OURS)])
    assert format_difference_cell(barely, ours, "test/accuracy").startswith("+0.00 (p = ")


def by_fold(scores: list[float]) -> dict[int, float]:
    return dict(enumerate(scores))


def test_the_variance_is_corrected() -> None:
    found = compute_paired_test(by_fold(OURS), by_fold(THEIRS), 0.25)
    assert found.difference == pytest.approx(1.0)  # of 1, 2, -0.5, 2 and 0.5; their sample variance is 1.125
    t = 1.0 / np.sqrt((1 / 5 + 1 / 4) * 1.125)
    # Two-sided tail of Student's t with 4 degrees of freedom, in closed form.
    w = t / np.sqrt(t**2 + 4)
    assert found.p == pytest.approx(1 - 1.5 * w + 0.5 * w**3)


def test_without_the_correction_it_is_the_usual_paired_test() -> None:
    found = compute_paired_test(by_fold(OURS), by_fold(THEIRS), 1e-12)
    assert found.p == pytest.approx(stats.ttest_rel(OURS, THEIRS).pvalue)
    assert compute_paired_test(by_fold(OURS), by_fold(THEIRS), 0.25).p > found.p


def test_exchanged_models_change_the_sign_only() -> None:
    found, other = (
        compute_paired_test(by_fold(OURS), by_fold(THEIRS), 0.25),
        compute_paired_test(by_fold(THEIRS), by_fold(OURS), 0.25),
    )
    assert (other.difference, other.p) == (pytest.approx(-found.difference), pytest.approx(found.p))


def test_scores_are_paired_by_place_not_by_order() -> None:
    places = [(0, fold) for fold in range(5)]
    ours, theirs = dict(zip(places, OURS, strict=True)), dict(zip(places, THEIRS, strict=True))
    turned = dict(reversed(theirs.items()))
    assert compute_paired_test(ours, turned, 0.25) == compute_paired_test(ours, theirs, 0.25)


@pytest.mark.parametrize(("step", "p"), [(0.0, 1.0), (1.5, 0.0), (-1.5, 0.0)])
def test_equal_differences_have_a_defined_result(step: float, p: float) -> None:
    found = compute_paired_test(by_fold([score + step for score in OURS]), by_fold(OURS), 0.25)
    assert (found.difference, found.p) == (step, p)


@pytest.mark.parametrize(
    ("ours", "theirs", "ratio", "message"),
    [
        ({0: 1.0, 1: 2.0}, {0: 1.0, 2: 2.0}, 0.25, "only one of the models has scores of 1, 2"),
        ({0: 1.0, 1: 2.0}, {0: 1.0}, 0.25, "only one of the models has scores of 1"),
        ({0: 1.0}, {0: 2.0}, 0.25, "scores of 1 folds"),
        ({}, {}, 0.25, "scores of 0 folds"),
        ({0: 1.0, 1: 2.0}, {0: 1.0, 1: 1.0}, 0.0, "test_to_train is 0.0"),
        ({0: 1.0, 1: 2.0}, {0: 1.0, 1: 1.0}, float("nan"), "test_to_train is nan"),
    ],
)
def test_bad_input(ours: dict[int, float], theirs: dict[int, float], ratio: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compute_paired_test(ours, theirs, ratio)
