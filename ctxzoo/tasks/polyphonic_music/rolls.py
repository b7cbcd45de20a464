"""Piano rolls: which of the 88 keys of a piano sound at each step of a piece."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

if TYPE_CHECKING:
    import datasets

KEYS = 88  # of a piano
LOWEST_PITCH = 21  # MIDI number of key 0, the A four octaves below middle A's
NOTES, PIECE = "notes", "piece_id"  # columns
Roll = npt.NDArray[np.bool_]  # (steps, KEYS)


@dataclass(frozen=True)
class Rolls:
    """The rolls of many pieces, one behind the other.

    Attributes:
        keys: (notes,) piano key of each note, 0..87, of all pieces, ordered by time step.
        steps: (steps + 1,) index into `keys` at which the notes of each time step begin.
        pieces: (pieces + 1,) index into `steps` at which the time steps of each piece begin.
    """

    keys: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]
    pieces: npt.NDArray[np.int64]

    @classmethod
    def from_split(cls, split: datasets.Dataset) -> Rolls:
        """Return the rolls of checked rows, whose column `notes` holds lists of lists of keys."""
        notes = split.select_columns([NOTES]).with_format("arrow")[:].column(NOTES).combine_chunks()
        steps = notes.flatten()
        return cls(
            steps.flatten().to_numpy(zero_copy_only=False).astype(np.int64),
            _compute_offsets(steps),
            _compute_offsets(notes),
        )

    def __len__(self) -> int:
        return len(self.pieces) - 1

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return (pieces,) the number of steps of each piece."""
        return np.diff(self.pieces)

    def roll(self, piece: int) -> Roll:
        """Return the roll of a piece, (steps, 88)."""
        begin, end = self.pieces[piece], self.pieces[piece + 1]
        borders = self.steps[begin : end + 1]
        roll = np.zeros((end - begin, KEYS), np.bool_)
        roll[np.repeat(np.arange(end - begin), np.diff(borders)), self.keys[borders[0] : borders[-1]]] = True
        return roll


def roll_of_notes(notes: Sequence[Sequence[int]]) -> Roll:
    """Return the roll (steps, 88) of a piece from the keys that sound at each step.

    Raises:
        ValueError: see `check_keys`.
    """
    check_keys(notes)
    roll = np.zeros((len(notes), KEYS), np.bool_)
    for step, keys in enumerate(notes):
        roll[step, list(keys)] = True
    return roll


def check_keys(notes: Sequence[Sequence[int]]) -> None:
    """Check the keys that sound at each step.

    Raises:
        ValueError: a key that a piano does not have.
    """
    for step, keys in enumerate(notes):
        for key in keys:
            if not 0 <= key < KEYS:
                raise ValueError(f"step {step} has the key {key}; expected 0..{KEYS - 1}, the keys of a piano")


def notes_of_roll(roll: Iterable[npt.NDArray[np.bool_]]) -> list[list[int]]:
    """Return for each step of a roll (steps, 88) the keys that sound, ascending."""
    return [np.flatnonzero(step).tolist() for step in roll]


def _compute_offsets(lists: pa.ListArray) -> npt.NDArray[np.int64]:
    """Return the offsets (lists + 1,) of lists whose values lie in one array."""
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
