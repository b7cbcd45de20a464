"""The paired test, against values worked out by hand and the plain t-test that it corrects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ctxzoo.results.paired_test import paired_test

OURS, THEIRS = [80.0, 81.5, 79.0, 82.0, 80.5], [79.0, 79.5, 79.5, 80.0, 80.0]


def by_fold(scores: list[float]) -> dict[int, float]:
    return dict(enumerate(scores))


def test_the_variance_is_corrected() -> None:
    found = paired_test(by_fold(OURS), by_fold(THEIRS), 0.25)
    assert found.difference == pytest.approx(1.0)  # of 1, 2, -0.5, 2 and 0.5; their sample variance is 1.125
    t = 1.0 / np.sqrt((1 / 5 + 1 / 4) * 1.125)
    # Two-sided tail of Student's t with 4 degrees of freedom, in closed form.
    w = t / np.sqrt(t**2 + 4)
    assert found.p == pytest.approx(1 - 1.5 * w + 0.5 * w**3)


def test_without_the_correction_it_is_the_usual_paired_test() -> None:
    found = paired_test(by_fold(OURS), by_fold(THEIRS), 1e-12)
    assert found.p == pytest.approx(stats.ttest_rel(OURS, THEIRS).pvalue)
    assert paired_test(by_fold(OURS), by_fold(THEIRS), 0.25).p > found.p


def test_exchanged_models_change_the_sign_only() -> None:
    found, other = paired_test(by_fold(OURS), by_fold(THEIRS), 0.25), paired_test(by_fold(THEIRS), by_fold(OURS), 0.25)
    assert (other.difference, other.p) == (pytest.approx(-found.difference), pytest.approx(found.p))


def test_scores_are_paired_by_place_not_by_order() -> None:
    places = [(0, fold) for fold in range(5)]
    ours, theirs = dict(zip(places, OURS, strict=True)), dict(zip(places, THEIRS, strict=True))
    turned = dict(reversed(theirs.items()))
    assert paired_test(ours, turned, 0.25) == paired_test(ours, theirs, 0.25)


@pytest.mark.parametrize(("step", "p"), [(0.0, 1.0), (1.5, 0.0), (-1.5, 0.0)])
def test_equal_differences_have_a_defined_result(step: float, p: float) -> None:
    found = paired_test(by_fold([score + step for score in OURS]), by_fold(OURS), 0.25)
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
        paired_test(ours, theirs, ratio)
