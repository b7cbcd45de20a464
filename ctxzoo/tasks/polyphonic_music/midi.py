"""MIDI files: which keys sound at equal steps of time, and back."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxzoo.data.files import atomic_file
from ctxzoo.data.formats import DatasetFileError
from ctxzoo.data.notices import format_error_on_one_line
from ctxzoo.data.reading_notes import record_note
from ctxzoo.tasks.polyphonic_music.rolls import KEYS, LOWEST_PITCH, check_keys

SUFFIXES = (".mid", ".midi")
DRUMS = 9  # the channel of General MIDI whose notes are no pitches
TEMPO = 500_000  # microseconds of a beat where a file says nothing: 120 beats a minute
TICKS = 480  # of a beat, in files that are written
VELOCITY = 80
LARGEST_ROLL = 1_000_000  # steps; more are those of a damaged file
LONGEST_BEATS = 4096  # of one note, or of a rest of all voices: half an hour
MOST_STEPS, LEAST_SECONDS = 48.0, 0.01
# Control changes that end all notes of a channel: All Sound Off, All Notes Off, and the four modes, which imply it.
NOTES_OFF = frozenset({120, 123, 124, 125, 126, 127})


@dataclass(frozen=True)
class Grid:
    """How long a step is.

    Attributes:
        steps_per_beat: Number of time steps in a beat, which is a quarter note in most files: 1 gives quarter notes, 2
            eighths.
        step_seconds: Duration of a time step in seconds, by the tempo of the file; None: `steps_per_beat` counts.

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
        """The length of a step in the MIDI ticks of files that we write."""
        return TICKS / self.steps_per_beat if self.step_seconds is None else self.step_seconds * TICKS * 1e6 / TEMPO


@dataclass(frozen=True)
class _Note:
    """A note: its pitch as MIDI numbers it, and where it begins and ends, in ticks."""

    pitch: int
    begin: int
    end: int


def is_midi(path: Path) -> bool:
    """Return whether the name of a path ends like that of a MIDI file."""
    return path.suffix.lower() in SUFFIXES


def read_midi(path: str | Path, grid: Grid) -> list[list[int]]:
    """Read a MIDI file as a list of steps, each the ascending keys that sound; 0 is the lowest key of a piano.

    Notes are those that `pretty_midi` reads: a note-off ends all notes of its key in its channel and track, and what is
    never ended is left out and counted. Three things differ. All Notes Off, All Sound Off and the mode messages end the
    notes of their channel and track. A tempo counts wherever it stands, and not on the first track alone. Tracks of
    type 2, which are pieces of their own, are refused and not laid over each other.

    Beginning and end of each note move to the nearest border of a step, and it sounds for one step at least. All tracks
    and channels count, but for drums, whose notes are counted too; pedals, velocities and repetitions of a key that
    sounds are not kept.

    Args:
        path: Path of the MIDI file to read.
        grid: Time grid: the duration of one step, in fractions of a beat or in seconds.

    Raises:
        FileNotFoundError: there is no such file.
        DatasetFileError: it is no MIDI file, or a damaged one; its tracks have times of their own (type 2), or its time
            is that of film (SMPTE); it holds no note, or one that no piano has, which is named; a note or a rest takes
            more than 4,096 beats.
        ImportError: mido is missing; the message names the package.
    """
    mido, path = _import_mido(), Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no file {str(path)!r}; expected a MIDI file")
    try:
        file = mido.MidiFile(path)
    except Exception as error:  # mido has many errors for damaged files, some of them its own and of no common class
        reason = "it ends too early" if isinstance(error, EOFError) else format_error_on_one_line(error)
        raise DatasetFileError(
            f"{path} is no whole MIDI file ({reason}); copy or export it again, or leave it out (or set `skip_bad`)"
        ) from error
    if file.type == 2:
        raise DatasetFileError(
            f"{path} is a MIDI file of type 2, whose tracks are pieces of their own; expected 0 or 1"
        )
    if file.ticks_per_beat <= 0:
        raise DatasetFileError(f"{path} counts the frames of a film (SMPTE); expected a MIDI file that counts beats")
    notes = list(_read_notes(file, path))
    if not notes:
        raise DatasetFileError(f"{path} holds no note but of drums or without an end; leave it out (or set `skip_bad`)")
    _check_note_and_rest_lengths(notes, file.ticks_per_beat, path)
    return _list_keys_by_step(notes, _Clock(file, grid, path), path)


def write_midi(notes: Sequence[Sequence[int]], path: str | Path, grid: Grid) -> None:
    """Write a piece as a MIDI file of one track, 120 beats a minute, atomically.

    A key that sounds at several steps in a row is one long note: a roll does not tell whether it was struck again.

    Args:
        notes: Numbers of the piano keys (0..87) that sound, for each time step.
        path: Path of the MIDI file to write.
        grid: Time grid: the duration of one step, in fractions of a beat or in seconds.

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
    with atomic_file(Path(path)) as out:
        file.save(file=out)


def _read_notes(file: Any, path: Path) -> Iterator[_Note]:
    """Yield the notes of all tracks, ended as `pretty_midi` ends them; those without an end are left out, and counted.

    A note-off ends all notes of its key and channel in its track, but for those that begin at the same tick where it
    ends others: in many files the next note stands before the end of the last. What has no length is no note.
    """
    drums = endless = 0
    for track in file.tracks:
        sounding: dict[tuple[int, int], list[int]] = {}  # channel and pitch -> ticks where notes began
        now = 0
        for message in track:
            now += message.time
            if message.type == "control_change" and message.control in NOTES_OFF:
                # Of the channel in this track alone: the parts of one instrument often end one after the other.
                ended = [key for key in sounding if key[0] == message.channel]
                for key in ended:
                    yield from (_Note(key[1], begin, now) for begin in sounding.pop(key) if begin < now)
            if message.type not in ("note_on", "note_off"):
                continue
            strikes = message.type == "note_on" and message.velocity > 0
            if message.channel == DRUMS:
                drums += strikes
                continue
            key = (message.channel, message.note)
            if strikes:
                _check_pitch(message, path)
                sounding.setdefault(key, []).append(now)
            elif key in sounding:
                begins = sounding.pop(key)
                yield from (_Note(message.note, begin, now) for begin in begins if begin < now)
                if begins[0] < now == begins[-1]:
                    sounding[key] = [begin for begin in begins if begin == now]
        endless += sum(map(len, sounding.values()))
    record_note(str(path), "notes of drums, left out", drums)
    record_note(str(path), "notes without an end, left out", endless)


def _check_pitch(message: Any, path: Path) -> None:
    """Raise `DatasetFileError` if the note of a MIDI message is not on a piano; `path` is its file."""
    if not LOWEST_PITCH <= message.note < LOWEST_PITCH + KEYS:
        raise DatasetFileError(
            f"{path}: note {message.note} of channel {message.channel + 1} is none of a piano, {LOWEST_PITCH} to "
            f"{LOWEST_PITCH + KEYS - 1}; move it by octaves"
        )


class _Clock:
    """Turns ticks of a file into steps, fractions of them too; a tempo counts from its tick on, whichever track has it.

    Args:
        file: MIDI file as `mido.MidiFile` opens it, with a fixed number of ticks in a beat.
        grid: Time grid: the duration of one step, in fractions of a beat or in seconds.
        path: Path of the file, named in error messages.
    """

    def __init__(self, file: Any, grid: Grid, path: Path) -> None:
        self.ticks, self.steps = [0], [0.0]  # where a tempo begins
        if grid.step_seconds is None:
            self.speeds, self.divisor = [grid.steps_per_beat], file.ticks_per_beat
            return
        self.speeds, self.divisor = [float(TEMPO)], file.ticks_per_beat * 1e6 * grid.step_seconds
        now = 0
        for message in file.merged_track:
            now += message.time
            if message.type == "set_tempo":
                if message.tempo == 0:
                    raise DatasetFileError(f"{path}: a tempo of 0 at tick {now:,}; expected microseconds of a beat")
                self.steps.append(self.convert_to_steps(now))
                self.ticks.append(now)
                self.speeds.append(message.tempo)

    def convert_to_steps(self, tick: int) -> float:
        """Convert a time in MIDI ticks to steps of the grid, with fractions."""
        last = bisect_right(self.ticks, tick) - 1
        # Multiplied first: half a step stays a half, which moves to the later border.
        return self.steps[last] + float((tick - self.ticks[last]) * self.speeds[last] / self.divisor)


def _check_note_and_rest_lengths(notes: Sequence[_Note], ticks_per_beat: int, path: Path) -> None:
    """Raise an error for a note or rest of absurd length, as a damaged file has them."""
    sounded = 0  # until this tick
    for note in sorted(notes, key=lambda note: note.begin):
        for kind, begin, end in (("rest", sounded, note.begin), ("note", note.begin, note.end)):
            if end - begin > LONGEST_BEATS * ticks_per_beat:
                raise DatasetFileError(
                    f"{path} has a {kind} of {(end - begin) // ticks_per_beat:,} beats; expected at most "
                    f"{LONGEST_BEATS:,}: it may be damaged; export it again, or leave it out (or set `skip_bad`)"
                )
        sounded = max(sounded, note.end)


def _list_keys_by_step(notes: Sequence[_Note], clock: _Clock, path: Path) -> list[list[int]]:
    """List for each step of a piece the keys that sound in it, ascending; `path` is named in errors."""
    spans = [
        (
            note.pitch - LOWEST_PITCH,
            first := _round_half_up(clock.convert_to_steps(note.begin)),
            max(first + 1, _round_half_up(clock.convert_to_steps(note.end))),
        )
        for note in notes
    ]
    length = max(end for _, _, end in spans)
    if length > LARGEST_ROLL:
        raise DatasetFileError(f"{path} has {length:,} steps; expected at most {LARGEST_ROLL:,}: it may be damaged")
    steps: list[set[int]] = [set() for _ in range(length)]
    for key, begin, end in spans:
        for step in range(begin, end):
            steps[step].add(key)
    return [sorted(step) for step in steps]


def _round_half_up(steps: float) -> int:
    """Return the nearest whole step; a half is rounded up."""
    return math.floor(steps + 0.5)


def _import_mido() -> Any:
    """Import the library that reads MIDI files, or say how to install it."""
    try:
        import mido
    except ImportError as error:
        raise ImportError("MIDI files need mido: pip install mido") from error
    return mido
