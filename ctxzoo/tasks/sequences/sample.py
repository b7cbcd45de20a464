"""Generated sequences: sessions of people who look through shelves, and histories of people who care for plants.

Only `random.Random.random` is used, the one method whose sequence Python promises to keep: the same seed gives the same
bytes everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import datasets

from ctxzoo.data.formats import SPLITS
from ctxzoo.tasks.sequences.kinds import HISTORIES, SESSIONS, SequenceKind

SHELVES = ("tea", "soup", "bread", "fruit", "cheese", "pasta")
THINGS = 8  # on each shelf
LEAST_STEPS, MORE_STEPS = 5, 12
LIKED = 2  # shelves that a person goes back to
STAYS, NEXT, AGAIN = 0.85, 0.7, 0.1  # on the shelf; to the next thing of it; to the last thing once more

CARE = ("water", "feed", "prune", "repot", "spray")
LEAST_EVENTS, MORE_EVENTS = 8, 16
BEGIN, DAY = 1_700_000_000.0, 86_400.0  # seconds since 1970, and in a day
SHORT, LONG = (0.02, 0.4), (2.0, 9.0)  # days from one event to the next
FOLLOWS = 0.85  # of the events are those that the pause says


def sample_sessions(
    seed: int = 0, train: int = 160, validation: int = 30, test: int = 30
) -> dict[str, datasets.Dataset]:
    """Return generated sessions; the same arguments give the same rows on every machine.

    What comes next follows from what was last, from the shelf that the person is at, and from the shelves that are the
    person's own. A larger split begins with a smaller one's rows.

    Args:
        seed: 0 or more.
        train, validation, test: number of sessions, 1 or more.

    Returns:
        Splits train, validation and test with the columns session_id (str) and items: 5 to 16 names, in order.

    Raises:
        ValueError: negative seed, or a number of sessions below 1.
    """
    return _splits(SESSIONS, _session, seed, (train, validation, test))


def sample_histories(
    seed: int = 0, train: int = 160, validation: int = 30, test: int = 30
) -> dict[str, datasets.Dataset]:
    """Return generated histories; the same arguments give the same rows on every machine.

    What comes next follows from the pause before the last event: behind a short one comes the next kind of care, behind
    a long one watering, in most cases. The order of events alone does not tell. A larger split begins with a smaller
    one's rows.

    Args:
        seed, train, validation, test: as of `sample_sessions`, with its errors.

    Returns:
        Splits train, validation and test with the columns history_id (str), events: 8 to 23 names in the order of
        time, and timestamps: seconds since 1970, which rise.
    """
    return _splits(HISTORIES, _history, seed, (train, validation, test))


def _splits(
    kind: SequenceKind,
    draw: Callable[[random.Random], tuple[list[Any], ...]],
    seed: int,
    sizes: Sequence[int],
) -> dict[str, datasets.Dataset]:
    if seed < 0:
        raise ValueError(f"seed is {seed}; expected 0 or more")
    splits = {}
    for split, rows in zip(SPLITS, sizes, strict=True):
        if rows < 1:
            raise ValueError(f"{split}={rows}; expected 1 {kind.one} or more")
        draws = random.Random(f"ctxzoo sample_{kind.several} {seed} {split}")
        drawn = zip(*(draw(draws) for _ in range(rows)), strict=True)
        names = [f"{split} {row}" for row in range(rows)]
        splits[split] = datasets.Dataset.from_dict(
            dict(zip((kind.ids[0], *kind.columns), (names, *map(list, drawn)), strict=True))
        )
    return splits


def _session(draws: random.Random) -> tuple[list[Any], ...]:
    liked = [_below(draws, len(SHELVES)) for _ in range(LIKED)]
    shelf, thing = liked[0], _below(draws, THINGS)
    steps = []
    for _ in range(LEAST_STEPS + _below(draws, MORE_STEPS)):
        steps.append(f"{SHELVES[shelf]} {thing}")
        if draws.random() >= STAYS:
            shelf, thing = liked[_below(draws, LIKED)], _below(draws, THINGS)
            continue
        choice = draws.random()
        if choice < NEXT:
            thing = (thing + 1) % THINGS
        elif choice >= NEXT + AGAIN:
            thing = _below(draws, THINGS)
    return (steps,)


def _history(draws: random.Random) -> tuple[list[Any], ...]:
    kind, time = _below(draws, len(CARE)), BEGIN + 400 * DAY * draws.random()
    events, times = [], []
    for _ in range(LEAST_EVENTS + _below(draws, MORE_EVENTS)):
        events.append(CARE[kind])
        times.append(time)
        low, high = SHORT if draws.random() < 0.5 else LONG
        pause = low + (high - low) * draws.random()
        time += pause * DAY
        if draws.random() < FOLLOWS:  # of the pause before this event; a history's first has none
            was_short = len(times) < 2 or times[-1] - times[-2] < DAY
            kind = (kind + 1) % len(CARE) if was_short else 0
        else:
            kind = _below(draws, len(CARE))
    return events, times


def _below(draws: random.Random, end: int) -> int:
    return int(draws.random() * end)
