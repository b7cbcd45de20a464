"""The two kinds of sequences, sessions of items and histories of events at times; quick to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SESSION, ITEMS = "session_id", "items"  # columns of checked rows, and of the samples
HISTORY, EVENTS, TIMES = "history_id", "events", "timestamps"
FIRST_TARGET = "first_target"  # column: from which element on, counted from 0, a sequence is predicted
ITEM_NAMES = ("items", "item_id", ("title", "name", "item_key"))


@dataclass(frozen=True)
class EventColumns:
    """The columns of a file of events, one row for each item of a user at a time.

    Attributes:
        user, item: Names of the columns for the user and for the item, whose values are read as text.
        time: Name of the column of times, as numbers, dates or datetimes; ties of one user keep the order of the file.
    """

    user: str = "user"
    item: str = "item"
    time: str = "time"


@dataclass(frozen=True)
class SequenceKind:
    """What the sequences of a problem are called, and where they stand in a dataset.

    Attributes:
        one, several, thing, things: Words for one sequence and for several ("session", "sessions"), and for one element
            and several ("item", "items").
        ids: Column names that may identify a sequence, of which the first present is used; checked data has the first.
        columns: Columns of checked data that hold a sequence's elements as lists: names in temporal order, then times
            if there are any.
        named: Sources of names for numeric ids, by list column: a configuration of the dataset, its id column, and its
            possible name columns.
        or_lists: Hint in error messages that data may also contain lists instead of one row for each event.
        names_argument: Name of the DataModule's argument, and of the config's field, that lists all item or event
            names, such as "item_names".
    """

    one: str
    several: str
    thing: str
    things: str
    ids: tuple[str, ...]
    columns: tuple[str, ...]
    named: Mapping[str, tuple[str, str, tuple[str, ...]]]
    or_lists: str
    names_argument: str


SESSIONS = SequenceKind(
    *("session", "sessions", "item", "items"),
    ids=(SESSION, "user", "user_id"),
    columns=(ITEMS,),
    named={ITEMS: ITEM_NAMES},
    or_lists=f"or give sessions as lists in a column {ITEMS!r}",
    names_argument="item_names",
)
HISTORIES = SequenceKind(
    *("history", "histories", "event", "events"),
    ids=(HISTORY, "sequence_id", "user", "user_id"),
    columns=(EVENTS, TIMES),
    named={EVENTS: ("events", "event_id", ("badge", "title", "name")), ITEMS: ITEM_NAMES},
    or_lists=f"or lists {EVENTS!r} or {ITEMS!r} and {TIMES!r}",
    names_argument="event_names",
)
