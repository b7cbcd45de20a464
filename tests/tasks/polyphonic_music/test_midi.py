from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import mido
import pretty_midi
import pytest

from ctxzoo.data.formats import DatasetFileError
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.tasks.polyphonic_music.midi import Grid, read_midi, write_midi

QUARTERS = Grid(steps_per_beat=1)


def note(kind: str, key: int, time: int = 0, channel: int = 0, velocity: int = 64) -> mido.Message:
    return mido.Message(kind, note=key + 21, velocity=velocity, time=time, channel=channel)


def midi(path: Path, *tracks: list, ticks: int = 100, kind: int = 1) -> Path:
    mido.MidiFile(type=kind, ticks_per_beat=ticks, tracks=[mido.MidiTrack(track) for track in tracks]).save(path)
    return path


def test_a_piece_is_the_same_when_it_is_read_again(tmp_path: Path) -> None:
    notes = [[3, 40], [3, 40, 87], [], [0], [0, 40], [5]]
    for grid in (QUARTERS, Grid(), Grid(steps_per_beat=7), Grid(step_seconds=0.13)):
        for path in (tmp_path / "a.mid", str(tmp_path / "b.mid")):
            write_midi(notes, path, grid)
            assert read_midi(path, grid) == notes


def test_steps_are_parts_of_a_beat(tmp_path: Path) -> None:
    path = midi(
        tmp_path / "a.mid",
        [note("note_on", 10), note("note_off", 10, 200), note("note_on", 4, 100), note("note_off", 4, 50)],
    )
    assert read_midi(path, QUARTERS) == [[10], [10], [], [4]]
    assert read_midi(path, Grid(steps_per_beat=2)) == [[10]] * 4 + [[], [], [4]]


def test_steps_of_seconds_follow_the_tempo(tmp_path: Path) -> None:
    slow = mido.MetaMessage("set_tempo", tempo=1_000_000)
    track = [note("note_on", 10), note("note_off", 10, 100), slow, note("note_on", 4), note("note_off", 4, 100)]
    path = midi(tmp_path / "a.mid", track)
    # The first beat takes half a second, the default, the second a whole one.
    assert read_midi(path, Grid(step_seconds=0.5)) == [[10], [4], [4]]


def test_ends_move_to_the_nearest_step_and_no_note_is_lost(tmp_path: Path) -> None:
    track = [note("note_on", 10, 49), note("note_off", 10, 2), note("note_on", 20, 99), note("note_off", 20, 95)]
    # From 0.49 to 0.51 of a beat: one step at 0. From 1.5 to 2.45: from 2, of two borders as near the later, to 3.
    assert read_midi(midi(tmp_path / "a.mid", track), QUARTERS) == [[10], [], [20]]


def test_tracks_sound_together_without_drums_and_an_end_may_be_a_silent_beginning(tmp_path: Path) -> None:
    one = [note("note_on", 10), note("note_on", 10, 100, velocity=0)]
    two = [note("note_on", 20, channel=1), note("note_off", 20, 200, channel=1)]
    drums = [note("note_on", 60, channel=9), note("note_off", 60, 400, channel=9)]
    assert read_midi(midi(tmp_path / "a.mid", one, two, drums), QUARTERS) == [[10, 20], [20]]


def test_a_key_of_two_voices_sounds_until_both_have_ended(tmp_path: Path) -> None:
    one = [note("note_on", 10), note("note_off", 10, 100)]
    two = [note("note_on", 10, channel=1), note("note_off", 10, 300, channel=1)]
    assert read_midi(midi(tmp_path / "a.mid", one, two), QUARTERS) == [[10], [10], [10]]


def test_a_note_that_no_piano_has_is_named(tmp_path: Path) -> None:
    path = midi(tmp_path / "a.mid", [mido.Message("note_on", note=109, channel=2)])
    with pytest.raises(DatasetFileError, match=r"a\.mid: note 109 of channel 3 is none of a piano, 21 to 108"):
        read_midi(path, QUARTERS)


def test_bad_files_are_named(tmp_path: Path) -> None:
    good = midi(tmp_path / "good.mid", [note("note_on", 10), note("note_off", 10, 100)])
    with pytest.raises(FileNotFoundError, match=r"no file .*none\.mid"):
        read_midi(tmp_path / "none.mid", QUARTERS)
    (tmp_path / "half.mid").write_bytes(good.read_bytes()[:-6])
    (tmp_path / "text.mid").write_text("no music")
    (tmp_path / "empty.mid").write_bytes(b"")
    for name, reason in (("half", "it ends too early"), ("text", "MThd not found"), ("empty", "it ends too early")):
        with pytest.raises(
            DatasetFileError, match=rf"{name}\.mid is no whole MIDI file \({reason}.*\); copy or export"
        ):
            read_midi(tmp_path / f"{name}.mid", QUARTERS)
    content = bytearray(good.read_bytes())
    content[12] = 0xE7  # 25 frames a second
    (tmp_path / "film.mid").write_bytes(content)
    with pytest.raises(DatasetFileError, match="counts the frames of a film"):
        read_midi(tmp_path / "film.mid", QUARTERS)
    with pytest.raises(DatasetFileError, match="type 2, whose tracks are pieces of their own"):
        read_midi(midi(tmp_path / "two.mid", [note("note_on", 10)], kind=2), QUARTERS)
    with pytest.raises(DatasetFileError, match="holds no note but of drums"):
        read_midi(midi(tmp_path / "drums.mid", [note("note_on", 10, channel=9)]), QUARTERS)
    with pytest.raises(DatasetFileError, match="holds no note but of drums or without an end"):
        read_midi(midi(tmp_path / "endless.mid", [note("note_on", 10)]), QUARTERS)
    stop = mido.MetaMessage("set_tempo", tempo=0)
    halted = midi(tmp_path / "halted.mid", [stop, note("note_on", 10), note("note_off", 10, 100)])
    assert read_midi(halted, QUARTERS) == [[10]]
    with pytest.raises(DatasetFileError, match="a tempo of 0 at tick 0; expected microseconds of a beat"):
        read_midi(halted, Grid(step_seconds=1.0))


@pytest.mark.parametrize(("beats", "taken"), [(4_096, True), (4_097, False), (500_000, False)])
def test_a_time_too_long_for_music_is_that_of_a_damaged_file(tmp_path: Path, beats: int, taken: bool) -> None:
    short = [note("note_on", 1), note("note_off", 1, 100)]
    rest = midi(tmp_path / "rest.mid", [*short, note("note_on", 10, beats * 100), note("note_off", 10, 100)])
    long = midi(tmp_path / "note.mid", [note("note_on", 10), note("note_off", 10, beats * 100)])
    # A voice that is silent as long while another one plays is music.
    other = [note("note_on", 5), *[note("note_on", 5, 100 * beats // 4) for _ in range(4)], note("note_off", 5)]
    voices = midi(tmp_path / "voices.mid", [note("note_on", 1, 100 * beats), note("note_off", 1, 100)], other)
    if taken:
        assert len(read_midi(rest, QUARTERS)) == beats + 2
        assert len(read_midi(long, QUARTERS)) == beats
        assert len(read_midi(voices, QUARTERS)) == beats + 1
    else:
        with pytest.raises(DatasetFileError, match=rf"rest\.mid has a rest of {beats:,} beats; expected at most 4,096"):
            read_midi(rest, QUARTERS)
        with pytest.raises(DatasetFileError, match=rf"note\.mid has a note of {beats:,} beats; expected at most 4,096"):
            read_midi(long, QUARTERS)


def test_a_piece_of_too_many_steps_is_refused(tmp_path: Path) -> None:
    strikes = [note("note_on", 10, 300_000), note("note_off", 10, 10_000)] * 350
    with pytest.raises(DatasetFileError, match=r"has 1,085,000 steps; expected at most 1,000,000"):
        read_midi(midi(tmp_path / "long.mid", strikes), QUARTERS)


@pytest.mark.parametrize("control", [120, 123, 126])
def test_all_notes_off_ends_the_notes_of_its_channel_and_track(tmp_path: Path, control: int) -> None:
    """`pretty_midi` does not: there a note without its note-off is lost."""

    def off(channel: int, time: int) -> mido.Message:
        return mido.Message("control_change", control=control, value=0, channel=channel, time=time)

    one = [note("note_on", 10), note("note_on", 20, channel=1), off(0, 100), note("note_off", 20, 200, channel=1)]
    two = [note("note_on", 30), note("note_off", 30, 200)]
    again = [note("note_on", 40, 100), note("note_off", 40, 100), off(0, 0), note("note_off", 40, 900)]
    path = midi(tmp_path / "a.mid", one, two, again)
    assert read_midi(path, QUARTERS) == [[10, 20, 30], [20, 30, 40], [20]]
    if control == 123:
        heard = {each.pitch - 21 for part in pretty_midi.PrettyMIDI(str(path)).instruments for each in part.notes}
        assert heard == {20, 30, 40}


def test_a_tempo_counts_on_any_track(tmp_path: Path) -> None:
    """`pretty_midi` looks at the first alone, and warns."""
    slow = mido.MetaMessage("set_tempo", tempo=1_000_000)
    path = midi(tmp_path / "a.mid", [note("note_on", 10), note("note_off", 10, 100)], [slow])
    assert read_midi(path, Grid(step_seconds=0.5)) == [[10], [10]]


def test_a_pedal_makes_no_note_longer(tmp_path: Path) -> None:
    pedal = [mido.Message("control_change", control=64, value=value, time=time) for value, time in ((127, 0), (0, 300))]
    path = midi(tmp_path / "a.mid", [pedal[0], note("note_on", 10), note("note_off", 10, 100), pedal[1]])
    assert read_midi(path, QUARTERS) == [[10]]


def test_what_is_left_out_of_a_file_is_counted(tmp_path: Path) -> None:
    track = [note("note_on", 10), note("note_off", 10, 100), note("note_on", 20), note("note_on", 30)]
    drums = [note("note_on", 1, channel=9), note("note_off", 1, 10, channel=9), note("note_on", 90, channel=9)]
    with collect_reading_notes() as notes:
        assert read_midi(midi(tmp_path / "a.mid", track, drums), QUARTERS) == [[10]]
    assert notes.counts() == {"notes without an end, left out": 2, "notes of drums, left out": 2}


def test_a_write_that_fails_leaves_the_earlier_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_midi([[1]], tmp_path / "a.mid", QUARTERS)
    before = (tmp_path / "a.mid").read_bytes()

    def half(_midi: Any, file: Any) -> None:
        file.write(b"half")
        raise OSError("the disk is full")

    monkeypatch.setattr(mido.MidiFile, "save", half)
    with pytest.raises(OSError, match="the disk is full"):
        write_midi([[2]], tmp_path / "a.mid", QUARTERS)
    assert (tmp_path / "a.mid").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.mid"]


@pytest.mark.parametrize(
    "options", [{"steps_per_beat": 0}, {"steps_per_beat": float("nan")}, {"step_seconds": 0.0}, {"steps_per_beat": 49}]
)
def test_a_step_has_a_length(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))}=.*: expected "):
        Grid(**options)


def test_without_mido_its_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mido", None)
    for use in (lambda: read_midi(tmp_path / "a.mid", QUARTERS), lambda: write_midi([], tmp_path / "a.mid", QUARTERS)):
        with pytest.raises(ImportError, match="MIDI files need mido: pip install mido"):
            use()
