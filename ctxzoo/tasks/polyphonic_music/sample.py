"""Generated music: four voices over chords that follow each other as in many songs.

Each piece has a tonic, a few chords of its scale, each held for some steps, a bass on the chord's root and a melody
that walks over the scale. What sounds next follows from what sounds now, so that a model that reads the past does
better than one that counts how often each key sounds.

Only `random.Random.random` is used, the one method whose sequence Python promises to keep: the same seed gives the same
bytes everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import datasets

from ctxzoo.data.formats import SPLITS
from ctxzoo.tasks.polyphonic_music.rolls import NOTES, PIECE

SCALE = (0, 2, 4, 5, 7, 9, 11)  # of a major key, in semitones above its tonic
NEXT_CHORDS = {0: (3, 4, 5, 3), 3: (4, 0, 1, 4), 4: (0, 0, 0, 5), 5: (3, 1, 3, 4), 1: (4, 4, 4, 6), 6: (0, 0, 0, 0)}
TONICS = (27, 29, 31, 32)  # keys of a piano, 0 the lowest
BASS_OCTAVES, MELODY_OCTAVES = 0, 2
LEAST_STEPS, MORE_STEPS = 24, 25
HELD = (2, 4, 4)  # steps of a chord


def sample_music(seed: int = 0, train: int = 100, validation: int = 20, test: int = 20) -> dict[str, datasets.Dataset]:
    """Return generated pieces; the same arguments give the same rows on every machine.

    A larger split begins with a smaller one's rows.

    Args:
        seed: 0 or more.
        train, validation, test: number of pieces, 1 or more.

    Returns:
        Splits train, validation and test with the columns piece_id (str) and notes: for each of 24 to 48 steps the keys
        that sound, ascending.

    Raises:
        ValueError: negative seed, or a number of pieces below 1.
    """
    if seed < 0:
        raise ValueError(f"seed is {seed}; expected 0 or more")
    splits = {}
    for split, rows in zip(SPLITS, (train, validation, test), strict=True):
        if rows < 1:
            raise ValueError(f"{split}={rows}; expected 1 piece or more")
        draws = random.Random(f"ctxzoo sample_music {seed} {split}")
        pieces = [_piece(draws) for _ in range(rows)]
        splits[split] = datasets.Dataset.from_dict({PIECE: [f"{split} {row}" for row in range(rows)], NOTES: pieces})
    return splits


def _piece(draws: random.Random) -> list[list[int]]:
    tonic, degree, chord = _pick(draws, TONICS), 0, 0
    steps: list[list[int]] = []
    length = LEAST_STEPS + int(draws.random() * MORE_STEPS)
    while len(steps) < length:
        for _ in range(_pick(draws, HELD)):
            bass = _key(tonic, chord, BASS_OCTAVES)
            voices = [_key(tonic, chord + third, 1) for third in (0, 2, 4)]
            melody = _key(tonic, degree, MELODY_OCTAVES)
            silent = draws.random() < 0.02
            steps.append([] if silent else sorted({bass, *voices, melody}))
            degree = min(9, max(0, degree + _pick(draws, (-2, -1, 1, 2))))
        chord = _pick(draws, NEXT_CHORDS[chord])
    return steps[:length]


def _key(tonic: int, degree: int, octaves: int) -> int:
    """Return the key of a degree of the scale, which may lie beyond its octave."""
    return tonic + 12 * (octaves + degree // len(SCALE)) + SCALE[degree % len(SCALE)]


def _pick(draws: random.Random, items: Sequence[int]) -> int:
    return items[int(draws.random() * len(items))]
