"""Stratified folds and held-out fractions: functions of the labels and a seed alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ctxzoo.data.formats import Rows
from ctxzoo.data.notices import format_count

DEV_SHARE = 0.1  # of the rows that are not tested, by default


def split_stratified_fold(labels: npt.ArrayLike, folds: int, fold: int, seed: int) -> tuple[Rows, Rows]:
    """Return the training and test rows of one fold of a stratified cross-validation.

    Args:
        labels: (rows,) classes of the rows.
        folds: Number of folds, 2 or more.
        fold: Number of the fold, 0..folds-1.
        seed: Seed of the assignment of rows to folds; folds with one seed form one cross-validation.

    Returns:
        Rows of the training part and of the test part, each in ascending order.

    Raises:
        ValueError: `folds`, `fold` or `seed` out of range, or a class with fewer rows than folds.
    """
    classes = _check_labels(labels)
    if folds < 2:
        raise ValueError(f"folds is {folds}; expected 2 or more")
    if not 0 <= fold < folds:
        raise ValueError(f"fold is {fold}; expected 0..{folds - 1}, one of the {folds} folds")
    _check_seed(seed)
    values, counts = np.unique(classes, return_counts=True)
    rarest = int(np.argmin(counts)) if len(counts) else None
    if rarest is None or counts[rarest] < folds:
        problem = (
            "there are no rows"
            if rarest is None
            else f"label {values[rarest]} has {format_count(counts[rarest], 'rows')}"
        )
        raise ValueError(f"{problem}, too few for {folds} folds; use fewer folds or leave the label out")
    from sklearn.model_selection import StratifiedKFold

    parts = StratifiedKFold(folds, shuffle=True, random_state=seed).split(classes, classes)
    train, test = list(parts)[fold]
    return train.astype(np.int64), test.astype(np.int64)


def hold_out_rows(labels: npt.ArrayLike, rows: npt.ArrayLike, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Hold out a fraction of some rows, drawn so that every class keeps its part.

    Args:
        labels: (all rows,) classes of the rows.
        rows: Row numbers to divide into two parts.
        fraction: Fraction of `rows` to hold out, above 0 and below 1.
        seed: Seed of the random draw.

    Returns:
        The rest and the held-out rows, each in ascending order.

    Raises:
        ValueError: `fraction` or `seed` out of range, a class with one row, or too few rows for every class to be on
            both sides.
    """
    sorted_rows = np.sort(np.asarray(rows, dtype=np.int64))
    classes = _check_labels(labels)[sorted_rows]
    if not 0 < fraction < 1:
        raise ValueError(f"the fraction to hold out is {fraction}; expected a number above 0 and below 1")
    _check_seed(seed)
    values, counts = np.unique(classes, return_counts=True)
    if not len(counts) or counts.min() < 2:
        problem = f"label {values[np.argmin(counts)]} has one row" if len(counts) else "there are no rows"
        raise ValueError(f"{problem}, too few to hold out a fraction of {fraction}; leave the label out or add rows")
    number = round(len(sorted_rows) * fraction)
    if not len(values) <= number <= len(sorted_rows) - len(values):
        raise ValueError(
            f"a fraction of {fraction} of {format_count(len(sorted_rows), 'rows')} is {format_count(number, 'rows')}, "
            f"but each of {len(values)} labels needs a row on both sides; choose another fraction"
        )
    from sklearn.model_selection import train_test_split

    rest, held_out = train_test_split(sorted_rows, test_size=number, random_state=seed, stratify=classes)
    return np.sort(rest), np.sort(held_out)


def hold_out_row_blocks(
    labels: npt.ArrayLike, rows: npt.ArrayLike, fraction: float, block: int, seed: int
) -> tuple[Rows, Rows]:
    """Hold out a fraction of some rows in blocks of neighbours, where rows that stand side by side are alike.

    The rows of each class are cut, in their order, into blocks of `block` rows or nearly so, of which the fraction
    is drawn, one at least.

    Args:
        labels, rows, fraction, seed: Classes, rows, fraction and seed as in `hold_out_rows`.
        block: Number of successive rows of one class that are held out together.

    Returns:
        The rest and the held-out rows, each in ascending order.

    Raises:
        ValueError: `fraction`, `seed` or `block` out of range, or a class with too few rows for two blocks.
    """
    sorted_rows = np.sort(np.asarray(rows, dtype=np.int64))
    classes = _check_labels(labels)[sorted_rows]
    if not 0 < fraction < 1:
        raise ValueError(f"the fraction to hold out is {fraction}; expected a number above 0 and below 1")
    if block < 1:
        raise ValueError(f"the block is {block}; expected 1 row or more")
    _check_seed(seed)
    generator = np.random.default_rng(seed)
    held_out_blocks: list[Rows] = []
    for value in np.unique(classes):
        members = sorted_rows[classes == value]
        blocks = np.array_split(members, max(1, round(len(members) / block)))
        number = max(1, round(len(blocks) * fraction))
        if number == len(blocks):
            raise ValueError(
                f"label {value} has {format_count(len(members), 'rows')}, too few to hold out a fraction of {fraction} "
                f"in blocks of {block}; choose smaller blocks or another fraction"
            )
        held_out_blocks += [blocks[index] for index in generator.permutation(len(blocks))[:number]]
    held_out = np.sort(np.concatenate(held_out_blocks))
    return np.setdiff1d(sorted_rows, held_out), held_out


def _check_labels(labels: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the labels as an array of int64; raise ValueError unless they are one integer for each row."""
    classes = np.asarray(labels)
    if classes.ndim != 1 or (len(classes) and not np.issubdtype(classes.dtype, np.integer)):
        raise ValueError(
            f"labels have shape {classes.shape} and type {classes.dtype}; expected integers, one for a row"
        )
    return classes.astype(np.int64)


def _check_seed(seed: int) -> None:
    """Raise ValueError unless the seed is from 0 to 2^32 - 1."""
    if not 0 <= seed < 2**32:
        raise ValueError(f"the seed is {seed}; expected 0..{2**32 - 1}")
