"""Errors, rows and counts are told in words that a person understands."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from ctxzoo.data.files import check_folder_is_writable
from ctxzoo.data.notices import format_count, format_error_on_one_line, format_error_with_row_hint


@pytest.mark.parametrize(
    ("number", "things", "told"),
    [
        (1, "rows", "1 row"),
        (0, "rows", "0 rows"),
        (1200, "rows without a label, left out", "1,200 rows without a label, left out"),
        (1, "rows without labels, left out", "1 row without labels, left out"),
        (1, "histories without a known event", "1 history without a known event"),
        (1, "known votes of legislators", "1 known vote of legislators"),
        (1, "n-grams", "1 n-gram"),
        (1, "batches", "1 batch"),
    ],
)
def test_one_thing_is_in_the_singular(number: int, things: str, told: str) -> None:
    assert format_count(number, things) == told


def test_an_error_of_the_system_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory") as raised:
        (tmp_path / "file" / "a.csv").read_text()
    assert format_error_on_one_line(raised.value) == f"{tmp_path / 'file' / 'a.csv'}: not a directory"
    assert format_error_on_one_line(OSError(errno.ENOSPC, "no\nroom", "from", None, "to")) == "to: no room"
    assert (
        format_error_on_one_line(OSError(errno.ENOSPC, "cannot write; free some space"))
        == "cannot write; free some space"
    )
    assert format_error_on_one_line(OSError("the Hub does not answer")) == "the Hub does not answer"
    with pytest.raises(OSError, match="cannot write") as raised:
        check_folder_is_writable(tmp_path / "file" / "runs")
    told = f"cannot write to {tmp_path / 'file' / 'runs'}: not a directory; choose another --output_dir"
    assert str(raised.value).startswith(told)


@pytest.mark.parametrize(
    ("message", "is_told"),
    [
        ("a.csv, row 17: no text", True),
        ("a.csv, line 17: no text", False),
        ("--row 17: a.csv has 1 piece", False),
        ("17 rows in arrow 17", False),
    ],
)
def test_a_message_that_names_a_row_says_how_rows_are_counted(message: str, is_told: bool) -> None:
    assert format_error_with_row_hint(ValueError(message)) == message + (
        " (rows are counted from 0)" if is_told else ""
    )
