"""What readers leave out and note is counted, listed and told once."""

from __future__ import annotations

import logging
from contextlib import nullcontext

import pytest

from ctxzoo.data.reading_notes import LEFT_OUT, collect_reading_notes, get_reading_notes, record_note, skip_or_raise


def test_a_bad_part_is_an_error_unless_it_is_skipped() -> None:
    error = ValueError("votes.csv, row 7: no vote (or set `skip_bad`)")
    for block in (nullcontext(), collect_reading_notes()):
        with block, pytest.raises(ValueError, match="row 7"):
            skip_or_raise("row 7", error)
    with collect_reading_notes(skip_bad=True) as notes:
        skip_or_raise("row 7", error)
        skip_or_raise("row 7", error)  # of data that is read twice
        record_note("votes.csv", "votes of unknown bills, left out", 12)
        record_note("votes.csv", "votes of unknown bills, left out", 12)
        record_note("more.csv", "votes of unknown bills, left out", 3)
        record_note("more.csv", "repeated votes, the last kept", 0)
        assert notes.format_lines()[0] == "note: --skip_bad left out 1 of the data (rows are counted from 0):"
    assert notes.counts() == {LEFT_OUT: 1, "votes of unknown bills, left out": 15}
    assert notes.to_json_dict()["left_out"] == {"row 7": "votes.csv, row 7: no vote"}
    assert get_reading_notes().counts() == {}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("no text in column 'a'; leave the row out", "no text in column 'a'"),
        ("'' in 'a'; expected a text, or leave the row out", "'' in 'a'; expected a text"),
        ("nothing in 'a'; fill it in or leave the row out", "nothing in 'a'; fill it in"),
        (
            "a date; most are numbers: write it as they are or leave the row out",
            "a date; most are numbers: write it as they are",
        ),
        ("votes a second time; leave one of them out", "votes a second time"),
        ("cut short; copy it again, or leave it out (or set `skip_bad`)", "cut short; copy it again"),
        ("2 such rows; correct them (or set `skip_bad`, which leaves them out)", "2 such rows; correct them"),
        ("line 3 is empty; remove it, every line is one text", "line 3 is empty, every line is one text"),
    ],
)
def test_what_is_left_out_is_not_told_with_the_advice_to_leave_it_out(error: str, told: str) -> None:
    with collect_reading_notes(skip_bad=True) as notes:
        skip_or_raise("a", ValueError(error))
    assert notes.left_out == {"a": told}


def test_a_person_sees_the_number_and_the_first_of_them_once() -> None:
    with collect_reading_notes(skip_bad=True) as notes:
        for number in range(1200):
            skip_or_raise(f"{number}.mid", ValueError("cut\nshort"))
        lines = notes.format_new_lines()
        assert lines[0] == "note: --skip_bad left out 1,200 of the data:"
        assert lines[1:] == [f"    {number}.mid: cut short" for number in range(5)] + ["    … and 1,195 more"]
        record_note("a.csv", "rows without a label, left out", 4)
        record_note("b.csv", "rows without a label, left out", 1)
        assert notes.format_new_lines() == [
            "note: a.csv: 4 rows without a label, left out",
            "note: b.csv: 1 row without a label, left out",
        ]
        assert notes.format_new_lines() == []
        for number in range(6):
            record_note(f"{number}.mid", "notes of drums, left out", 2)
        assert notes.format_new_lines() == ["note: 6 files: 12 notes of drums, left out"]
    assert len(notes.to_json_dict()["left_out"]) == 1000


def test_outside_of_a_command_a_note_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        record_note("a.csv", "rows without a label, left out", 4000)
    assert caplog.messages == ["a.csv: 4,000 rows without a label, left out"]
