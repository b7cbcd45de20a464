"""Splits that a tagged corpus lacks, cut out of those that it has; no draw, so that they are always the same."""

from __future__ import annotations

import datasets
import numpy as np

from ctxzoo.data.formats import Rows
from ctxzoo.tasks.token_classification.reader import FILE_COLUMN

TENTHS = 10  # parts of `train`; one of them is validation, another test where there is no test split


def split_rows(splits: dict[str, datasets.Dataset]) -> dict[str, tuple[str, Rows]]:
    """Return the name of each split to the split in which its rows are, and these rows, ascending.

    Splits that are there stay as they are. Without `test`, `train` is cut by its column `file`: files count in the
    order of their first sentences, and of each ten the ninth is `validation`, the tenth `test`: no document is in two
    splits, and where files are sorted by category each split has some of each. With `test` but without `validation`,
    the last tenth of the sentences of `train` is that.

    Raises:
        ValueError: without `test`, there is no `train`, no column `file`, or fewer than ten files; without
            `validation`, `train` has fewer than ten sentences.
    """
    own = {name: (name, np.arange(len(split))) for name, split in splits.items()}
    if "test" in splits and ("validation" in splits or "train" not in splits):
        return own
    if "train" not in splits:
        raise ValueError(f"there is no test split, only {sorted(splits)}, and no train split to cut one from")
    train = splits["train"]
    if "test" in splits:
        held = len(train) // TENTHS
        if not held:
            raise ValueError(f"the train split has {len(train)} sentences; a tenth of it is no validation split")
        rows = np.arange(len(train))
        return {**own, "train": ("train", rows[:-held]), "validation": ("train", rows[-held:])}
    if FILE_COLUMN not in train.column_names:
        raise ValueError(
            f"there is no test split, only {sorted(splits)}, and no column {FILE_COLUMN!r} by which to cut one "
            "from train"
        )
    files: dict[str, int] = {}
    part = np.array([files.setdefault(name, len(files)) % TENTHS for name in train[FILE_COLUMN][:]])
    if len(files) < TENTHS:
        raise ValueError(f"the train split has {len(files)} files; expected {TENTHS} or more to cut test from")
    names = {TENTHS - 2: "validation", TENTHS - 1: "test"}
    cut = {name: ("train", np.flatnonzero(part == number)) for number, name in names.items()}
    if "validation" in splits:
        return {**own, "train": ("train", np.flatnonzero(part != TENTHS - 1)), "test": cut["test"]}
    return {"train": ("train", np.flatnonzero(part < TENTHS - 2)), **cut}
