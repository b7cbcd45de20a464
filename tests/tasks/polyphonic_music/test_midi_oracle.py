"""MIDI files with everything that players write: the roll is that of the notes which `pretty_midi` reads."""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction
from pathlib import Path

import pretty_midi
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ctxzoo.data.formats import DatasetFileError
from ctxzoo.tasks.polyphonic_music.midi import Grid, read_midi

LOWEST = 21
DRUMS = 9

# An event: delta in ticks, then status and data bytes. Few keys and channels, so that notes overlap.
channels = st.sampled_from([0, 0, 1, DRUMS])
keys = st.sampled_from([LOWEST, 60, 60, 61, 108])
strikes = st.builds(
    lambda channel, key, loud: (0x90 | channel, key, loud), channels, keys, st.sampled_from([0, 1, 127])
)
ends = st.builds(lambda channel, key: (0x80 | channel, key, 64), channels, keys)
pedals = st.builds(lambda channel, down: (0xB0 | channel, 64, down), channels, st.sampled_from([0, 127]))
programs = st.builds(lambda channel, program: (0xC0 | channel, program), channels, st.integers(0, 3))
events = st.tuples(
    st.sampled_from([0, 0, 1, 7, 50, 130, 700]), st.one_of(strikes, strikes, ends, ends, pedals, programs)
)
tempos = st.tuples(st.sampled_from([0, 1, 50, 300]), st.sampled_from([250_000, 500_000, 1_200_000]))


def number(value: int) -> bytes:
    """A delta: 7 bits a byte, the most significant first, all but the last with the high bit."""
    parts = [value & 0x7F]
    while value := value >> 7:
        parts.append(0x80 | (value & 0x7F))
    return bytes(reversed(parts))


def chunk(events: list[tuple[int, tuple[int, ...]]], tempos: list[tuple[int, int]], running: bool) -> bytes:
    """A track: its tempo changes merged among its events, status bytes left out where they may be."""
    now, timed = 0, []
    for delta, tempo in tempos:
        now += delta
        timed.append((now, 0, bytes([0xFF, 0x51, 3]) + tempo.to_bytes(3, "big")))
    now = 0
    for delta, message in events:
        now += delta
        timed.append((now, 1, bytes(message)))
    body, last, status = b"", 0, None
    for tick, _, message in sorted(timed, key=lambda one: one[:2]):
        left_out = running and message[0] == status
        body += number(tick - last) + message[left_out:]
        last, status = tick, None if message[0] == 0xFF else message[0]
    body += b"\x00\xff\x2f\x00"
    return b"MTrk" + len(body).to_bytes(4, "big") + body


@st.composite
def files(draw: st.DrawFn) -> bytes:
    kind = draw(st.sampled_from([0, 1]))
    ticks = draw(st.sampled_from([12, 24, 96, 480]))
    tracks = draw(st.lists(st.lists(events, max_size=30), min_size=1, max_size=1 if kind == 0 else 4))
    changes = draw(st.lists(tempos, max_size=3))
    running = draw(st.booleans())
    header = b"MThd" + (6).to_bytes(4, "big") + b"".join(n.to_bytes(2, "big") for n in (kind, len(tracks), ticks))
    return header + b"".join(chunk(one, changes if place == 0 else [], running) for place, one in enumerate(tracks))


def steps_of(notes: list[tuple[int, Fraction, Fraction]]) -> list[list[int]]:
    """The roll of notes (key, begin, end) in steps: borders at the nearest step, of two the later; a step at least."""
    spans = [(key, math.floor(begin + Fraction(1, 2)), math.floor(end + Fraction(1, 2))) for key, begin, end in notes]
    length = max(max(first + 1, last) for _, first, last in spans)
    return [sorted({k for k, first, last in spans if first <= step < max(first + 1, last)}) for step in range(length)]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=files(), grid=st.sampled_from([Grid(1), Grid(2), Grid(7), Grid(step_seconds=0.13)]))
def test_notes_are_those_of_pretty_midi(content: bytes, grid: Grid, tmp_path: Path) -> None:
    path = tmp_path / "a.mid"
    path.write_bytes(content)
    oracle = pretty_midi.PrettyMIDI(str(path))
    heard = [each for part in oracle.instruments if not part.is_drum for each in part.notes]
    if not heard:
        with pytest.raises(DatasetFileError, match="holds no note"):
            read_midi(path, grid)
        return

    def place(seconds: float) -> Fraction:
        if grid.step_seconds is not None:
            steps = Fraction(seconds) / Fraction(grid.step_seconds)
            assume(abs(steps % 1 - Fraction(1, 2)) > Fraction(1, 10**6))  # there both round floating point numbers
            return steps
        return Fraction(oracle.time_to_tick(seconds), oracle.resolution) * Fraction(grid.steps_per_beat)

    expected = steps_of([(each.pitch - LOWEST, place(each.start), place(each.end)) for each in heard])
    assert read_midi(path, grid) == expected


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=files(), cut=st.floats(0, 1, exclude_max=True), data=st.data())
def test_a_cut_or_changed_file_is_read_or_refused(
    content: bytes, cut: float, data: st.DataObject, tmp_path: Path
) -> None:
    path = tmp_path / "a.mid"
    path.write_bytes(content[: int(cut * len(content))])
    with pytest.raises(DatasetFileError) as refused:
        read_midi(path, Grid())
    assert "\n" not in str(refused.value)
    changed = bytearray(content)
    changed[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(changed)
    with contextlib.suppress(DatasetFileError):
        steps = read_midi(path, Grid())
        assert steps
        assert all(0 <= key < 88 for step in steps for key in step)
