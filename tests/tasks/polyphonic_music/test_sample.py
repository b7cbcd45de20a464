from __future__ import annotations

import hashlib
import json

import pytest

from ctxzoo.data.formats import SPLITS
from ctxzoo.tasks.polyphonic_music.reader import check_music, sample_music

FROZEN = "bde0e1cd0a69879ef72c1fafdca69b6f9ebdf663139b9e2e7bede878d57b17b4"


def _sha256(music) -> str:
    return hashlib.sha256(json.dumps({name: split.to_dict() for name, split in music.items()}).encode()).hexdigest()


def test_the_music_is_frozen():
    """Same bytes on every machine: results on the sample can be compared. A change of the rules is new music."""
    assert _sha256(sample_music()) == FROZEN


def test_seed_and_sizes():
    small = sample_music(seed=3, train=20, validation=7, test=1)
    assert {name: len(split) for name, split in small.items()} == {"train": 20, "validation": 7, "test": 1}
    assert _sha256(small) != _sha256(sample_music(seed=4, train=20, validation=7, test=1))
    larger = sample_music(seed=3, train=30, validation=9, test=5)
    assert all(larger[name].select(range(len(small[name]))).to_dict() == small[name].to_dict() for name in SPLITS)
    for arguments in ({"seed": -1}, {"train": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(arguments))}.*{next(iter(arguments.values()))}"):
            sample_music(**arguments)


def test_it_is_music_of_four_voices_with_rests():
    splits = check_music(sample_music(train=40)).splits
    pieces = splits["train"]["notes"][:]
    assert {len(piece) for piece in pieces} <= set(range(24, 49))
    assert {len(step) for piece in pieces for step in piece} >= {0, 4, 5}
    assert not {str(piece) for piece in pieces} & {str(piece) for piece in splits["test"]["notes"][:]}
