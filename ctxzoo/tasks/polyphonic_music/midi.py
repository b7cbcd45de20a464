"""MIDI files: which keys sound at equal steps of time, and back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxzoo.data.files import atomic_file
from ctxzoo.data.notices import on_one_line
from ctxzoo.data.sources import DatasetFileError
from ctxzoo.tasks.polyphonic_music.rolls import KEYS, LOWEST_PITCH, check_keys

SUFFIXES = (".mid", ".midi")
DRUMS = 9  # the channel of General MIDI whose notes are no pitches
TEMPO = 500_000  # microseconds of a beat where a file says nothing: 120 beats a minute
TICKS = 480  # of a beat, in files that are written
VELOCITY = 80
LARGEST_ROLL = 1_000_000  # steps; more are those of a damaged file
MOST_STEPS, LEAST_SECONDS = 48.0, 0.01


@dataclass(frozen=True)
class Grid:
    """How long a step is.

    Attributes:
        steps_per_beat: steps of a beat, a quarter note in most files: 1 are quarters, 2 eighths.
        step_seconds: seconds of a step instead, by the file's tempo; None: steps are parts of a beat.

    Raises:
        ValueError: one of them is out of range.
    """

    steps_per_beat: float = 2.0
    step_seconds: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.steps_per_beat <= MOST_STEPS:
            raise ValueError(f"steps_per_beat={self.steps_per_beat}: expected more than 0, and at most {MOST_STEPS:g}")
        if self.step_seconds is not None and not LEAST_SECONDS <= self.step_seconds < math.inf:
            raise ValueError(f"step_seconds={self.step_seconds}: expected {LEAST_SECONDS:g} or more")

    def ticks(self) -> float:
        """Return the length of a step in a file that is written, in its ticks."""
        return TICKS / self.steps_per_beat if self.step_seconds is None else self.step_seconds * TICKS * 1e6 / TEMPO


@dataclass(frozen=True)
class _Note:
    """A note: its key, 0..87, and where it begins and ends, in steps."""

    key: int
    begin: float
    end: float


def is_midi(path: Path) -> bool:
    """Return whether a path is that of a MIDI file, by its name."""
    return path.suffix.lower() in SUFFIXES


def read_midi(path: Path, grid: Grid) -> list[list[int]]:
    """Return for each step of a MIDI file the keys that sound, ascending, 0 the lowest of a piano.

    Beginning and end of each note move to the nearest border of a step, and it sounds for one step at least. All tracks
    and channels count, but for drums; pedals, velocities and repetitions of a key that sounds are not kept.

    Args:
        path: the file.
        grid: how long a step is.

    Raises:
        FileNotFoundError: there is no such file.
        DatasetFileError: it is no MIDI file, or a damaged one; its tracks have times of their own (type 2), or its time
            is that of film (SMPTE); it holds no note, or one that no piano has, which is named.
        ImportError: mido is missing; the message names the package.
    """
    mido = _import_mido()
    if not path.is_file():
        raise FileNotFoundError(f"no file {str(path)!r}; expected a MIDI file")
    try:
        file = mido.MidiFile(path)
        tracks = mido.merge_tracks(file.tracks)
    except Exception as error:  # mido has many errors for damaged files, some of them its own and of no common class
        raise DatasetFileError(
            f"{path} is no whole MIDI file ({on_one_line(error)}); copy or export it again, or leave it out"
            " (or set `skip_bad`)"
        ) from error
    if file.type == 2:
        raise DatasetFileError(
            f"{path} is a MIDI file of type 2, whose tracks are pieces of their own; expected 0 or 1"
        )
    if file.ticks_per_beat <= 0:
        raise DatasetFileError(f"{path} counts the frames of a film (SMPTE); expected a MIDI file that counts beats")
    return _steps(list(_notes(tracks, file.ticks_per_beat, grid, path)), path)


def write_midi(notes: Sequence[Sequence[int]], path: Path, grid: Grid) -> None:
    """Write a piece as a MIDI file of one track, 120 beats a minute, atomically.

    A key that sounds at several steps in a row is one long note: a roll does not tell whether it was struck again.

    Args:
        notes: for each step the keys that sound, 0..87.
        path: the file.
        grid: how long a step is.

    Raises:
        OSError: it cannot be written.
        ValueError: see `check_keys`.
        ImportError: mido is missing; the message names the package.
    """
    check_keys(notes)
    mido = _import_mido()
    borders: list[tuple[int, str, int]] = []  # step, kind, key; at one step what ends stands before what begins
    for step, (before, now) in enumerate(zip([[], *notes], [*notes, []], strict=True)):
        borders += [(step, "note_off", key) for key in sorted(set(before) - set(now))]
        borders += [(step, "note_on", key) for key in sorted(set(now) - set(before))]
    track = mido.MidiTrack([mido.MetaMessage("set_tempo", tempo=TEMPO)])
    last = 0
    for step, kind, key in borders:
        tick = round(step * grid.ticks())
        velocity = VELOCITY if kind == "note_on" else 0
        track.append(mido.Message(kind, note=LOWEST_PITCH + key, velocity=velocity, time=tick - last))
        last = tick
    track.append(mido.MetaMessage("end_of_track", time=round(len(notes) * grid.ticks()) - last))
    file = mido.MidiFile(type=0, ticks_per_beat=TICKS, tracks=[track])
    with atomic_file(path) as out:
        file.save(file=out)


def _notes(track: Any, ticks_per_beat: int, grid: Grid, path: Path) -> Iterator[_Note]:
    """Yield the notes of a track, in the order of their ends; one that is never ended ends with the track."""
    sounding: dict[tuple[int, int], list[float]] = {}  # channel and key -> where notes began
    now, tempo = 0.0, TEMPO
    for message in track:
        now += _steps_of_ticks(message.time, ticks_per_beat, tempo, grid)
        if message.type == "set_tempo":
            tempo = message.tempo
        if message.type not in ("note_on", "note_off") or message.channel == DRUMS:
            continue
        key = message.note - LOWEST_PITCH
        if not 0 <= key < KEYS:
            raise DatasetFileError(
                f"{path}: note {message.note} of channel {message.channel + 1} is none of a piano, {LOWEST_PITCH} to "
                f"{LOWEST_PITCH + KEYS - 1}; move it by octaves"
            )
        begins = sounding.setdefault((message.channel, key), [])
        if message.type == "note_on" and message.velocity:
            begins.append(now)
        elif begins:
            yield _Note(key, begins.pop(0), now)
    for (_, key), begins in sounding.items():
        for begin in begins:
            yield _Note(key, begin, now)


def _steps_of_ticks(ticks: int, ticks_per_beat: int, tempo: int, grid: Grid) -> float:
    beats = ticks / ticks_per_beat
    return beats * grid.steps_per_beat if grid.step_seconds is None else beats * tempo / 1e6 / grid.step_seconds


def _steps(notes: Sequence[_Note], path: Path) -> list[list[int]]:
    if not notes:
        raise DatasetFileError(f"{path} holds no note but of drums; leave it out")
    spans = [(note.key, first := _nearest(note.begin), max(first + 1, _nearest(note.end))) for note in notes]
    length = max(end for _, _, end in spans)
    if length > LARGEST_ROLL:
        raise DatasetFileError(f"{path} has {length:,} steps; expected at most {LARGEST_ROLL:,}: it may be damaged")
    steps: list[set[int]] = [set() for _ in range(length)]
    for key, begin, end in spans:
        for step in range(begin, end):
            steps[step].add(key)
    return [sorted(step) for step in steps]


def _nearest(steps: float) -> int:
    """Return the nearest border; of two the later, as Python's `round` does not always."""
    return math.floor(steps + 0.5)


def _import_mido() -> Any:
    try:
        import mido
    except ImportError as error:
        raise ImportError("MIDI files need mido: pip install mido") from error
    return mido
