"""What readers leave out and note is counted, listed and told once."""

from __future__ import annotations

import logging
from contextlib import nullcontext

import pytest

from ctxzoo.data.reading_notes import LEFT_OUT, current_notes, leave_out, note, reading_notes


def test_a_bad_part_is_an_error_unless_it_is_skipped() -> None:
    error = ValueError("votes.csv, row 7: no vote (or set `skip_bad`)")
    for block in (nullcontext(), reading_notes()):
        with block, pytest.raises(ValueError, match="row 7"):
            leave_out("row 7", error)
    with reading_notes(skip_bad=True) as notes:
        leave_out("row 7", error)
        leave_out("row 7", error)  # of data that is read twice
        note("votes.csv", "votes of unknown bills, left out", 12)
        note("votes.csv", "votes of unknown bills, left out", 12)
        note("more.csv", "votes of unknown bills, left out", 3)
        note("more.csv", "repeated votes, the last kept", 0)
    assert notes.counts() == {LEFT_OUT: 1, "votes of unknown bills, left out": 15}
    assert notes.as_json()["left_out"] == {"row 7": "votes.csv, row 7: no vote"}
    assert current_notes().counts() == {}


def test_a_person_sees_the_number_and_the_first_of_them_once() -> None:
    with reading_notes(skip_bad=True) as notes:
        for number in range(1200):
            leave_out(f"{number}.mid", ValueError("cut\nshort"))
        lines = notes.new_lines()
        assert lines[0] == "note: --skip_bad left out 1,200 of the data:"
        assert lines[1:] == [f"    {number}.mid: cut short" for number in range(5)] + ["    … and 1,195 more"]
        note("a.csv", "rows without a label, left out", 4)
        assert notes.new_lines() == ["note: a.csv: 4 rows without a label, left out"]
        assert notes.new_lines() == []
        for number in range(6):
            note(f"{number}.mid", "notes of drums, left out", 2)
        assert notes.new_lines() == ["note: 6 files: 12 notes of drums, left out"]
    assert len(notes.as_json()["left_out"]) == 1000


def test_outside_of_a_command_a_note_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        note("a.csv", "rows without a label, left out", 4000)
    assert caplog.messages == ["a.csv: 4,000 rows without a label, left out"]
