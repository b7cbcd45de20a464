"""How a user says that data is odd, and what readers did with it, counted: what was left out, guessed or merged.

Every reader calls one of two functions, and no argument has to be handed through:

    except DatasetFileError as error:
        skip_or_raise(str(path), error)  # raises the error; with `--skip_bad` the part is left out, listed and counted
    record_note(str(path), "rows of a user without a time, read in the order of the file", 12)  # never an error

A command, or a user's own script, gathers what they say around all that it reads:

    with collect_reading_notes(skip_bad=True) as notes:
        data.setup()
    print(*notes.format_lines(), sep="\\n")

`ctxzoo train`, `ctxzoo evaluate` and `ctxzoo predict` do so with their option `--skip_bad`: the lines go to the user,
`counts()` into the JSON file that they write. Without a block around it a part that is bad is an error, and a note is
logged as a warning.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from ctxzoo.data.notices import ROWS_FROM, format_count, format_error_on_one_line, mentions_row_number

SHOWN = 5  # parts that are listed for a person
LISTED = 1000  # in a JSON file
LEFT_OUT = "left out as bad"
# Advice of errors, which has been followed where a part is left out.
ADVICE = re.compile(
    r" \(or set `skip_bad`[^)]*\)"
    r"|(?:[;:,]? or|[;:,]) (?:leave (?:it|the \w+|one of them) out|remove (?:it|the row))\b"
)

logger = logging.getLogger(__name__)


@dataclass
class ReadingNotes:
    """What readers left out and noted. The same part or note of data that is read twice counts once.

    Attributes:
        skip_bad: Whether unreadable files, rows and documents are left out; otherwise the first one is an error.
        no_header: Whether .csv and .tsv files have no header, so that their first line is a row.
        left_out: Name of each file, row or document that was left out, to the reason.
        noted: Name of the data and what was done to it, to the number of cases.
        not_listed: Number of further ones that were left out, of data that is larger than memory.
    """

    skip_bad: bool = False
    no_header: bool = False
    left_out: dict[str, str] = field(default_factory=dict)
    noted: dict[tuple[str, str], int] = field(default_factory=dict)
    not_listed: int = 0
    _shown: set[str] = field(default_factory=set)

    @property
    def num_left_out(self) -> int:
        """How many files, rows and documents were left out."""
        return len(self.left_out) + self.not_listed

    def leave_out_of_stream(self, location: str, reason: str) -> None:
        """Record a row of a stream as left out; beyond a thousand rows are counted, not listed."""
        if len(self.left_out) < LISTED:
            self.left_out[location] = reason
        else:
            self.not_listed += 1

    def add_count(self, location: str, change: str, number: int) -> None:
        """Add to the number of cases of a note, as of one part of the data after another; 0 are not noted."""
        if number:
            self.noted[location, change] = self.noted.get((location, change), 0) + number

    def format_lines(self) -> list[str]:
        """Return one line for each thing a person should know: how many rows or files were left out, and every note.

        A note of many files is one line with the sum.
        """
        lines = []
        if self.left_out:
            reasons = [
                reason if location in reason else f"{location}: {reason}"
                for location, reason in list(self.left_out.items())[:SHOWN]
            ]
            rows = f" ({ROWS_FROM})" if any(map(mentions_row_number, reasons)) else ""
            lines.append(f"note: --skip_bad left out {self.num_left_out:,} of the data{rows}:")
            lines += [f"    {line}" for line in reasons]
            if self.num_left_out > len(reasons):
                lines.append(f"    … and {self.num_left_out - len(reasons):,} more")
        for change in dict.fromkeys(change for _, change in self.noted):
            numbers = {
                location: number for (location, noted_change), number in self.noted.items() if noted_change == change
            }
            if len(numbers) > SHOWN:
                numbers = {f"{len(numbers):,} files": sum(numbers.values())}
            lines += [f"note: {location}: {format_count(number, change)}" for location, number in numbers.items()]
        return lines

    def format_new_lines(self) -> list[str]:
        """Return the lines of `format_lines` that no earlier call returned."""
        lines = [line for line in self.format_lines() if line not in self._shown]
        self._shown.update(lines)
        return lines

    def counts(self) -> dict[str, int]:
        """Return how many rows or files each reader's rule changed or left out, by what was done."""
        counts = {LEFT_OUT: self.num_left_out} if self.left_out else {}
        for (_, what), number in self.noted.items():
            counts[what] = counts.get(what, 0) + number
        return counts

    def to_json_dict(self) -> dict[str, object]:
        """Return, for a JSON file, `counts` and up to a thousand of the rows or files left out, with reasons."""
        listed = dict(list(self.left_out.items())[:LISTED])
        return {"counts": self.counts(), "left_out": listed}


_current: ContextVar[ReadingNotes | None] = ContextVar("reading_notes", default=None)


@contextmanager
def collect_reading_notes(*, skip_bad: bool = False, no_header: bool = False) -> Iterator[ReadingNotes]:
    """Within a `with` block, collect what readers of data leave out or guess, and set how strict they are.

    Args:
        skip_bad: Whether unreadable files, rows and documents are left out instead of raising errors.
        no_header: Whether .csv and .tsv files have no header, so that their first line is a row, as in
            `row_files.read_csv_or_tsv`.
    """
    notes = ReadingNotes(skip_bad, no_header)
    token = _current.set(notes)
    try:
        yield notes
    finally:
        _current.reset(token)


def get_reading_notes() -> ReadingNotes:
    """Return the notes of the innermost `collect_reading_notes` block, or new ones that skip nothing."""
    return _current.get() or ReadingNotes()


def skip_or_raise(location: str, error: Exception) -> None:
    """Record a bad file or row as left out if the user allowed that, and otherwise raise its error.

    Args:
        location: Name of what is left out, such as "songs/a.mid" or "votes.csv, row 7"; the same on every reading.
        error: Error that says what is wrong with it.

    Raises:
        Exception: `error`, where bad parts are errors.
    """
    notes = get_reading_notes()
    if not notes.skip_bad:
        raise error
    notes.left_out[location] = ADVICE.sub("", format_error_on_one_line(error))


def record_note(location: str, change: str, number: int) -> None:
    """Note that a reader dropped, guessed, merged or replaced `number` things at `location`; 0 are not noted.

    Args:
        location: Name of the data in messages.
        change: What was done, with a plural noun for the cases: "rows without a label, left out". `format_count` makes
            the
            noun singular but not a verb: write "rows read twice", not "rows that are read twice".
        number: Number of cases.
    """
    if not number:
        return
    notes = _current.get()
    if notes is None:
        logger.warning("%s: %s", location, format_count(number, change))
    else:
        notes.noted[location, change] = number


def note_similar_labels(location: str, labels: Sequence[str]) -> None:
    """Note labels that differ in blanks, case or leading zeros alone; each is a label of its own."""
    alike: dict[str, list[str]] = {}
    for name in labels:
        key = "".join(name.split()).casefold()
        alike.setdefault(key.lstrip("0") or "0" if key.isdecimal() else key, []).append(name)
    for group in alike.values():
        if len(group) > 1:
            names = ", ".join(map(repr, group))
            what = f"labels differ in blanks, case or leading zeros alone, {names}; each counts as a label of its own"
            record_note(location, what, len(group))
