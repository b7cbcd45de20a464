"""Events at times: the badges of Stack Overflow, from two files of each fold, a user a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from ctxzoo.catalogue.entry import Entry, Files, RawFile, RawFileError, Rows, Splits
from ctxzoo.catalogue.order import rows_to_columns, split_randomly
from ctxzoo.catalogue.read_lines import read_lines

FOLDS = range(1, 6)
EVENTS_FILE, TIMES_FILE, NAMES_FILE = "event-{}-test.txt", "time-{}-test.txt", "badges.csv"
HEAD = "id, badge"

Number = TypeVar("Number", int, float)


def read_badges(files: Files) -> Splits:
    """Return the badges that each user earned and when, divided by user, and a table of badge names.

    Users are numbered by their first time, then by their events and times: folds overlap, and their order is of no
    meaning.
    """
    names = _read_badge_names(files[NAMES_FILE])
    known = set(names["event_id"])
    users = {user for fold in FOLDS for user in _read_users(files, fold, known)}
    ordered = sorted(users, key=lambda user: (user[1][0], *user))
    rows: list[dict[str, Any]] = [
        {"sequence_id": number, "events": list(events), "timestamps": list(times)}
        for number, (events, times) in enumerate(ordered)
    ]
    splits = {
        f"sequences/{split}": rows_to_columns(found) for split, found in split_randomly(rows, "sequence_id").items()
    }
    return {**splits, "events/train": names}


def _read_users(files: Files, fold: int, known_events: set[int]) -> Iterator[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Yield events and times of each user of a fold."""
    path, times_path = files[EVENTS_FILE.format(fold)], files[TIMES_FILE.format(fold)]
    lines, time_lines = read_lines(path), read_lines(times_path)
    if len(lines) != len(time_lines):
        raise RawFileError(
            f"{path.name} has {len(lines):,} lines, {times_path.name} {len(time_lines):,}; expected as many"
        )
    for number, (line, time_line) in enumerate(zip(lines, time_lines, strict=True), start=1):
        events, times = _parse_numbers(path, number, line, int), _parse_numbers(times_path, number, time_line, float)
        if len(events) != len(times) or not events:
            raise RawFileError(
                f"{path.name}, line {number}: {len(events)} events at {len(times)} times; expected as many, at least 1"
            )
        unknown = [event for event in events if event not in known_events]
        if unknown:
            raise RawFileError(f"{path.name}, line {number}: the event {unknown[0]}, which {NAMES_FILE} does not name")
        yield events, times


def _parse_numbers(path: Path, number: int, line: str, kind: Callable[[str], Number]) -> tuple[Number, ...]:
    """Return the numbers of a line, each parsed by `kind`; `number` is that of the line, for errors."""
    try:
        return tuple(kind(cell) for cell in line.split())
    except ValueError as error:
        raise RawFileError(f"{path.name}, line {number}: {error}; expected numbers with blanks between") from error


def _read_badge_names(path: Path) -> Rows:
    """Return the table of badges by number; the file has them in no order."""
    lines = [line.strip() for line in read_lines(path)]
    if lines[:1] != [HEAD]:
        raise RawFileError(f"{path.name} begins with {lines[:1]}; expected {HEAD!r}")
    pairs = sorted(_parse_number_and_name(path, number, line) for number, line in enumerate(lines[1:], start=2))
    return {"event_id": [event for event, _ in pairs], "badge": [name for _, name in pairs]}


def _parse_number_and_name(path: Path, number: int, line: str) -> tuple[int, str]:
    """Return the number and the name of a line such as `3,Teacher`; `number` is that of the line, for errors."""
    event, _, name = line.partition(",")
    if not event.isdigit() or not name.strip():
        raise RawFileError(f"{path.name}, line {number}: {line!r}; expected a number, a comma and a name")
    return int(event), name.strip()


_REPOSITORY = "StatsDLMathsRecomSys/Self-attention-with-Functional-Time-Representation-Learning"
_SO = f"https://raw.githubusercontent.com/{_REPOSITORY}/b5cd85cc897ac4a3b7f5a4c39ee0b98ebbd44988/input_data/so"

ENTRIES = (
    Entry(
        name="ctxzoo-data/stackoverflow_badges",
        description=(
            "Badges that people were given on Stack Overflow, with the time of each to the millisecond: 4,468 people, "
            "327,487 badges of 22 kinds, 41 to 736 of a person (Du et al. 2016; files of Xu et al. 2019)."
        ),
        licence="CC BY-SA (content of Stack Exchange)",
        source=f"GitHub {_REPOSITORY}, commit b5cd85c",
        how=(
            "The five test folds of the source overlap: every sequence of events and times that is in one of them, "
            "once. The training folds are not available. People, numbered by their first time, then by events, are "
            "divided: of a permutation by numpy's generator with seed 20200608 the first 80 %, the next and the last "
            "10 %."
        ),
        uses=("badges_lste",),
        megabytes=2.0,
        kinds={
            "sequence_id": "int32",
            "events": "uint8s",
            "timestamps": "float64s",
            "event_id": "int32",
            "badge": "long text",
        },
        files=(
            *(RawFile(f"{_SO}/{file.format(fold)}") for fold in FOLDS for file in (EVENTS_FILE, TIMES_FILE)),
            RawFile(f"{_SO}/{NAMES_FILE}"),
        ),
        convert=read_badges,
    ),
)
