from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from ctxzoo.catalogue.entry import RawFileError
from ctxzoo.catalogue.music import make_piano_roll_converter

CONVERT = make_piano_roll_converter({"songs": "Songs.mat"})


def write(folder: Path, **parts: list[np.ndarray]) -> dict[str, Path]:
    content = {}
    for name, rolls in parts.items():
        content[name] = np.empty((1, len(rolls)), dtype=object)
        content[name][0, :] = rolls
    savemat(folder / "Songs.mat", content)
    return {"Songs.mat": folder / "Songs.mat"}


def roll(*steps: list[int], dtype: type = np.float64) -> np.ndarray:
    found = np.zeros((len(steps), 88), dtype)
    for step, keys in enumerate(steps):
        found[step, keys] = 1
    return found


def test_rolls_become_the_keys_of_each_step(tmp_path: Path) -> None:
    train = [roll([3, 87], []), roll([0], [1], [2], dtype=np.uint8)]
    splits = CONVERT(write(tmp_path, traindata=train, validdata=[roll([5])], testdata=[roll([6], [])]))
    assert list(splits) == ["songs/train", "songs/validation", "songs/test"]
    assert splits["songs/train"] == {
        "piece_id": [0, 1],
        "num_steps": [2, 3],
        "notes": [[[3, 87], []], [[0], [1], [2]]],
    }
    assert splits["songs/test"]["notes"] == [[[6], []]]


def test_what_is_not_in_the_form_of_the_source_is_named(tmp_path: Path) -> None:
    whole = {"traindata": [roll([1])], "validdata": [roll([1])], "testdata": [roll([1])]}
    with pytest.raises(RawFileError, match=r"Songs\.mat has no 'testdata'"):
        CONVERT(write(tmp_path, **{name: whole[name] for name in ("traindata", "validdata")}))
    with pytest.raises(RawFileError, match=r"validdata, piece 1: an array of shape \(2, 87\)"):
        CONVERT(write(tmp_path, **{**whole, "validdata": [roll([1]), np.zeros((2, 87))]}))
    with pytest.raises(RawFileError, match=r"traindata, piece 0: .* of 0 and 1"):
        CONVERT(write(tmp_path, **{**whole, "traindata": [2 * roll([1])]}))
    (tmp_path / "Songs.mat").write_bytes(b"no")
    with pytest.raises(RawFileError, match=r"Songs\.mat is no MATLAB file"):
        CONVERT({"Songs.mat": tmp_path / "Songs.mat"})
