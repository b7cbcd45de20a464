from __future__ import annotations

import hashlib

import numpy as np
import pytest

from ctxzoo.data.text_folds import hold_out_row_blocks, hold_out_rows, split_stratified_fold

LABELS = np.random.default_rng(0).choice(3, size=997, p=[0.6, 0.3, 0.1])


def shares(rows) -> np.ndarray:
    return np.bincount(LABELS[rows], minlength=3) / len(rows)


def test_each_row_is_in_one_test_part_and_in_the_other_training_parts():
    parts = [split_stratified_fold(LABELS, 5, fold, seed=3) for fold in range(5)]
    assert sorted(np.concatenate([test for _, test in parts]).tolist()) == list(range(997))
    for train, test in parts:
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(997))
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()
        assert train.dtype == test.dtype == np.int64


def test_parts_keep_the_shares_of_the_classes():
    overall = shares(np.arange(997))
    for fold in range(5):
        train, test = split_stratified_fold(LABELS, 5, fold, seed=0)
        assert np.abs(shares(train) - overall).max() < 0.002
        assert np.abs(shares(test) - overall).max() < 0.006
    rest, held = hold_out_rows(LABELS, train, 0.1, seed=0)
    assert len(held) == round(0.1 * len(train))
    assert np.abs(shares(held) - overall).max() < 0.01
    assert np.abs(shares(rest) - overall).max() < 0.002


def test_held_out_rows_are_taken_from_the_rows_given():
    rows = np.arange(900, 100, -2)
    rest, held = hold_out_rows(LABELS, rows, 0.25, seed=1)
    assert sorted([*rest.tolist(), *held.tolist()]) == sorted(rows.tolist())
    assert len(held) == 100
    assert (np.diff(held) > 0).all()
    # The order in which rows are given does not matter.
    again = hold_out_rows(LABELS, rows[::-1], 0.25, seed=1)
    assert held.tolist() == again[1].tolist()


def test_the_draws_follow_the_seed():
    def drawn(seed: int) -> tuple[int, ...]:
        train, test = split_stratified_fold(LABELS, 5, 0, seed)
        return (*test.tolist(), *hold_out_rows(LABELS, train, 0.1, seed)[1].tolist())

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(4)}) == 4


def test_the_draws_are_the_same_on_every_machine():
    """Results of a fold can be compared: another version of a library may not change it in silence."""
    train, test = split_stratified_fold(LABELS, 5, 1, seed=0)
    _, held = hold_out_rows(LABELS, train, 0.1, seed=0)
    numbers = " ".join(map(str, [*test.tolist(), *held.tolist()]))
    assert hashlib.sha256(numbers.encode()).hexdigest()[:16] == "e439e04c717fb897"


@pytest.mark.parametrize(
    ("labels", "folds", "fold", "seed", "message"),
    [
        (LABELS, 1, 0, 0, "folds is 1; expected 2 or more"),
        (LABELS, 5, 5, 0, r"fold is 5; expected 0\.\.4"),
        (LABELS, 5, -1, 0, "fold is -1"),
        (LABELS, 5, 0, -1, "seed is -1"),
        ([0] * 10 + [7] * 4, 5, 0, 0, "label 7 has 4 rows, too few for 5 folds"),
        ([], 5, 0, 0, "there are no rows"),
        ([0.5] * 10, 5, 0, 0, "float64; expected integers"),
        ([[0, 1]] * 10, 5, 0, 0, r"shape \(10, 2\)"),
    ],
)
def test_bad_folds(labels, folds, fold, seed, message):
    with pytest.raises(ValueError, match=message):
        split_stratified_fold(labels, folds, fold, seed)


@pytest.mark.parametrize(
    ("labels", "fraction", "message"),
    [
        (LABELS, 0.0, "fraction to hold out is 0.0"),
        (LABELS, 1.0, "fraction to hold out is 1.0"),
        ([0] * 9 + [3], 0.3, "label 3 has one row"),
        ([0] * 9 + [3, 3], 0.1, "0.1 of 11 rows is 1 row, but each of 2 labels"),
        ([], 0.5, "there are no rows"),
    ],
)
def test_bad_fractions(labels, fraction, message):
    with pytest.raises(ValueError, match=message):
        hold_out_rows(labels, np.arange(len(labels)), fraction, seed=0)


def test_blocks_are_neighbours_of_one_class():
    labels = np.array([0] * 400 + [1] * 200)
    rest, held = hold_out_row_blocks(labels, np.arange(600), 0.1, 20, seed=3)
    assert sorted([*rest, *held]) == list(range(600))
    assert [(labels[held] == label).sum() for label in (0, 1)] == [40, 20]
    starts = held.reshape(-1, 20)
    assert (starts == starts[:, :1] + np.arange(20)).all()
    assert (starts[:, 0] % 20 == 0).all()
    again, other = (hold_out_row_blocks(labels, np.arange(600), 0.1, 20, seed=seed)[1] for seed in (3, 4))
    assert (again == held).all()
    assert not (other == held).all()


@pytest.mark.parametrize(
    ("fraction", "block", "message"),
    [
        (0.0, 2, "fraction to hold out is 0.0"),
        (0.5, 0, "the block is 0; expected 1 row or more"),
        (0.1, 10, "label 0 has 10 rows, too few to hold out a fraction of 0.1 in blocks of 10"),
    ],
)
def test_bad_blocks(fraction, block, message):
    with pytest.raises(ValueError, match=message):
        hold_out_row_blocks([0] * 10 + [1] * 10, np.arange(20), fraction, block, seed=0)
