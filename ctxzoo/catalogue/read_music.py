"""Converter of polyphonic music: files of MATLAB with a roll of 88 keys for each piece."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from ctxzoo.catalogue.entry import Files, RawFileError, Rows, Splits

KEYS = 88
_SPLITS = {"train": "traindata", "validation": "validdata", "test": "testdata"}


def piano_rolls(files_of_sets: Mapping[str, str]) -> Callable[[Files], Splits]:
    """Return a converter of rolls to the keys that sound at each step.

    Args:
        files_of_sets: name of the set, which is that of the configuration, to its file.
    """

    def convert(files: Files) -> Splits:
        splits: dict[str, Rows] = {}
        for name, file in files_of_sets.items():
            content = _read(files[file])
            for split, variable in _SPLITS.items():
                splits[f"{name}/{split}"] = _rows(content, variable, files[file])
        return splits

    return convert


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content: Mapping[str, Any] = loadmat(path)
    except Exception as error:  # of a damaged file scipy raises anything
        raise RawFileError(f"{path.name} is no MATLAB file: {error}") from error
    return content


def _rows(content: Mapping[str, Any], variable: str, path: Path) -> Rows:
    if variable not in content:
        raise RawFileError(f"{path.name} has no {variable!r}; it has {sorted(content)}")
    rolls = [np.asarray(roll) for roll in np.ravel(content[variable])]
    for piece, roll in enumerate(rolls):
        if roll.ndim != 2 or roll.shape[1] != KEYS or not np.isin(roll, (0, 1)).all():
            raise RawFileError(
                f"{path.name}, {variable}, piece {piece}: an array of shape {roll.shape}; expected (steps, {KEYS}) of "
                "0 and 1"
            )
    return {
        "piece_id": list(range(len(rolls))),
        "num_steps": [len(roll) for roll in rolls],
        "notes": [[np.flatnonzero(step).tolist() for step in roll] for roll in rolls],
    }
