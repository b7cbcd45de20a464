"""Results of cross-validations: what counts as one, and what may be compared."""

from __future__ import annotations

from typing import Any

import pytest

from ctxzoo.results.fold_results import (
    are_comparable,
    check_folds,
    compare,
    difference_cell,
    is_complete,
    score_cell,
)
from ctxzoo.results.paired_test import paired_test
from ctxzoo.results.result import RunResult
from tests.support.result_tables import make_folds

OURS, THEIRS = [80.0, 81.5, 79.0, 82.0, 80.5], [79.0, 79.5, 79.5, 80.0, 80.0]


def test_a_cell_says_which_folds_it_lacks() -> None:
    runs = make_folds(OURS)
    assert (score_cell(runs, "test/accuracy"), is_complete(runs)) == ("80.60 ± 1.19", True)
    assert (score_cell(runs[:3], "test/accuracy"), is_complete(runs[:3])) == ("80.17 ± 1.26 (3 of 5 folds)", False)
    seeds = [*runs, *make_folds(THEIRS, seed=1)[:4]]
    assert (score_cell(seeds, "test/accuracy")[-15:], is_complete(seeds)) == ("(9 of 10 folds)", False)
    assert not is_complete([])


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
    check_folds(runs)
    check_folds(runs[:1])
    with pytest.raises(ValueError, match=message):
        check_folds([*runs[:4], *make_folds(OURS, **changes)[4:]])


def test_a_fold_counts_once() -> None:
    with pytest.raises(ValueError, match="two results for learned_embeddings on SetFit/CR with seed 0, fold 0"):
        check_folds([*make_folds(OURS), make_folds(THEIRS)[0]])


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
    assert are_comparable(ours, make_folds(THEIRS, variant="another", settings={"epochs": 3}))
    assert not are_comparable(ours, other)
    assert not are_comparable(other, ours)
    assert difference_cell(ours, other, "test/accuracy") == "–"


def test_one_fold_is_not_compared() -> None:
    assert not are_comparable(make_folds(OURS)[:1], make_folds(THEIRS)[:1])


def test_the_rows_scored_and_trained_on_are_those_of_the_split() -> None:
    ours, theirs = make_folds(OURS), list(reversed(make_folds(THEIRS)))
    scores = dict(enumerate(OURS)), dict(enumerate(THEIRS))
    assert compare(ours, theirs, "test/accuracy") == paired_test(*scores, test_to_train=20 / 80)
    found = compare(ours, theirs, "validation/accuracy")  # one above the test accuracy in both
    assert found.p == pytest.approx(paired_test(*scores, test_to_train=8 / 72).p)


def test_differences_as_they_are_shown() -> None:
    ours, theirs = make_folds(OURS), make_folds(THEIRS)
    assert difference_cell(ours, theirs, "test/accuracy") == "+1.00 (p = 0.233)"
    assert difference_cell(theirs, ours, "test/accuracy") == "-1.00 (p = 0.233)"
    assert difference_cell(ours, ours, "test/accuracy") == "+0.00 (p = 1.000)"
    better = make_folds([score + 5.0 for score in OURS])
    assert difference_cell(better, ours, "test/accuracy") == "+5.00 (p < 0.001)"
    barely = make_folds([score - 0.001 * fold for fold, score in enumerate(OURS)])
    assert difference_cell(barely, ours, "test/accuracy").startswith("+0.00 (p = ")
