"""Sequences of a user's own, without rare items and short sequences, and divided by time or by leaving the last out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.notices import format_count
from ctxzoo.data.own_splits import HELD_OUT
from ctxzoo.data.reading_notes import record_note
from ctxzoo.data.rows import iterate_column
from ctxzoo.tasks.sequences.kinds import FIRST_TARGET, TIMES, SequenceKind

if TYPE_CHECKING:
    import datasets

LEAST_LEFT_OUT = 3  # elements of a sequence, of which one is tested, one validates and one is trained on


def drop_rare(
    kind: SequenceKind, rows: datasets.Dataset, name: str, min_item_count: int, min_session_length: int
) -> datasets.Dataset:
    """Return sequences without rare elements and short sequences, both again and again until all that is left fits.

    How many elements and sequences are left out is recorded in the reading notes.

    Args:
        kind: Kind of sequence: sessions of items, or histories of timed events.
        rows: Checked sequences.
        name: Name of the data in messages.
        min_item_count: Least number of times that an element stands in all sequences.
        min_session_length: Least number of elements of a sequence.

    Raises:
        TextFormatError: nothing is left.
    """
    lists = rows[kind.columns[0]][:]
    numbers: dict[str, int] = {}
    things = np.array([numbers.setdefault(thing, len(numbers)) for names in lists for thing in names], np.int64)
    owners = np.repeat(np.arange(len(lists)), [len(names) for names in lists])
    kept, before = np.ones(len(things), bool), -1
    while kept.sum() != before:
        before = int(kept.sum())
        kept &= np.bincount(things[kept], minlength=len(numbers))[things] >= min_item_count
        kept &= np.bincount(owners[kept], minlength=len(lists))[owners] >= min_session_length
    if not kept.any():
        raise TextFormatError(
            f"{name}: of {format_count(len(lists), kind.several)} none is left with {min_session_length} or more "
            f"{kind.things} that stand there {min_item_count} times or more; lower min_item_count or min_session_length"
        )
    left_things, left_rows = len(np.unique(things[kept])), np.unique(owners[kept])
    rare = f"{kind.things} with fewer than {min_item_count} occurrences in {kind.several} that are kept, left out"
    record_note(name, rare, len(numbers) - left_things)
    short = f"{kind.several} of fewer than {min_session_length} of the {kind.things} that are kept, left out"
    record_note(name, short, len(lists) - len(left_rows))
    ends = np.cumsum([len(names) for names in lists])
    places = [np.flatnonzero(kept[end - len(lists[row]) : end]) for row, end in enumerate(ends)]
    return _cut_sequences(rows, [column for column in (*kind.columns, TIMES) if column in rows.column_names], places)


def divide_sequences(
    kind: SequenceKind, rows: datasets.Dataset, name: str, split: str
) -> tuple[dict[str, datasets.Dataset], str]:
    """Divide sequences into train, validation and test, and return them with a description for people.

    Sequences of validation and test begin with what came before; `first_target`, counted from 0, is the first of their
    elements that is to be predicted.

    Args:
        kind: Kind of sequence: sessions of items, or histories of timed events.
        rows: Checked sequences, by time with their times.
        name: Name of the data in messages.
        split: Way to divide: "time" or "leave_one_out".

    Raises:
        TextFormatError: no times to divide by; no part of its own for each split.
    """
    lengths = np.array([len(names) for names in rows[kind.columns[0]]], np.int64)
    if split == "time":
        ends, how = _find_ends_by_time(rows, name, kind)
    else:
        left = np.where(lengths >= LEAST_LEFT_OUT, 1, 0)
        ends = [lengths - 2 * left, lengths - left, lengths]
        few = f"{kind.several} of fewer than {LEAST_LEFT_OUT} {kind.things}, all in train: none of these is left out"
        record_note(name, few, int((left == 0).sum()))
        how = f"of each {kind.one} the last {kind.thing} is for test and the one before it for validation"
    columns = list(kind.columns)
    first = np.zeros(len(rows), np.int64)
    parts = {}
    for part, end in zip(("train", "validation", "test"), ends, strict=True):
        chosen = np.flatnonzero((end > first) & (end > (0 if part == "train" else 1)))
        if not len(chosen):
            raise TextFormatError(
                f"{name}: split={split!r} leaves nothing for {part}; expected {kind.several} of {LEAST_LEFT_OUT} or "
                f"more {kind.things}, at different times: divide at random"
            )
        cut = _cut_sequences(rows.select(chosen), columns, [np.arange(length) for length in end[chosen].tolist()])
        cut = cut.select_columns([kind.ids[0], *columns])
        parts[part] = cut.add_column(FIRST_TARGET, np.maximum(first[chosen], 1).tolist())
        first = end
    return parts, how


def _find_ends_by_time(
    rows: datasets.Dataset, name: str, kind: SequenceKind
) -> tuple[list[npt.NDArray[np.int64]], str]:
    """Return how many elements of each sequence are before the end of train, of validation and of test, and when."""
    if TIMES not in rows.column_names:
        raise TextFormatError(
            f"{name}: split='time', but there are no times; expected a file of events with a column of times, or lists "
            f"{TIMES!r} beside those of {kind.things}"
        )
    lists = [np.array(times, np.float64) for times in iterate_column(rows[TIMES])]
    times = np.sort(np.concatenate(lists))
    begins = [float(times[min(len(times) - 1, round(len(times) * (1 - share * HELD_OUT)))]) for share in (2, 1)]
    ends = [np.array([int(np.searchsorted(one, begin)) for one in lists], np.int64) for begin in begins]
    lengths = np.array([len(one) for one in lists], np.int64)
    how = (
        f"{kind.things} from time {begins[0]:.15g} on are for validation, from {begins[1]:.15g} on for test, each "
        f"predicted from all that came before in its {kind.one}"
    )
    return [*ends, lengths], how


def _cut_sequences(
    rows: datasets.Dataset, columns: Sequence[str], places: Sequence[npt.NDArray[np.int64]]
) -> datasets.Dataset:
    """Return rows whose lists hold the elements at some places alone; rows of which none is left are left out."""
    import datasets

    left = [row for row, chosen in enumerate(places) if len(chosen)]
    content: dict[str, Any] = {name: rows[name][:] for name in rows.column_names}
    for name in columns:
        pairs = zip(content[name], places, strict=True)
        content[name] = [[one[place] for place in chosen.tolist()] for one, chosen in pairs]
    return datasets.Dataset.from_dict(content, features=rows.features).select(left)
