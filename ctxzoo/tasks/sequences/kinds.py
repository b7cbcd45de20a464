"""The two kinds of sequences, sessions of items and histories of events at times; quick to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SESSION, ITEMS = "session_id", "items"  # columns of checked rows, and of the samples
HISTORY, EVENTS, TIMES = "history_id", "events", "timestamps"
ITEM_NAMES = ("items", "item_id", ("title", "name", "item_key"))


@dataclass(frozen=True)
class EventColumns:
    """The columns of a file of events, one row for each item of a user at a time.

    Attributes:
        user, item: Any values, which are read as text.
        time: Numbers, dates or times; events of one user at the same time stay in the order of the file.
    """

    user: str = "user"
    item: str = "item"
    time: str = "time"


@dataclass(frozen=True)
class SequenceKind:
    """What the sequences of a problem are called, and where they stand in a dataset.

    Attributes:
        one, several, thing, things: What a sequence is called, and what stands in it, one and many.
        ids: Columns that name a sequence, the first that is there; checked rows have the first.
        columns: The columns of checked rows with the things of a sequence: their names in order, then their times
            where the problem has any.
        named: Name of a column of lists to the configuration of a dataset that names the ids in it, the column of ids
            there, and those of names, the first that is there.
        or_lists: What errors say of lists in the place of rows with one event each.
        names_argument: The argument of the DataModule, and the field of configs, that says which things there are.
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
