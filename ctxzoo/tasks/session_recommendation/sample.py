"""Generated sessions: people look through shelves of things, mostly in one order, and now and then change the shelf.

Only `random.Random.random` is used, the one method whose sequence Python promises to keep: the same seed gives the same
bytes everywhere.
"""

from __future__ import annotations

import random

import datasets

from ctxzoo.data.formats import SPLITS

SESSION, ITEMS = "session_id", "items"
SHELVES = ("tea", "soup", "bread", "fruit", "cheese", "pasta")
THINGS = 8  # on each shelf
LEAST_STEPS, MORE_STEPS = 5, 12
LIKED = 2  # shelves that a person goes back to
STAYS, NEXT, AGAIN = 0.85, 0.7, 0.1  # on the shelf; to the next thing of it; to the last thing once more


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
    if seed < 0:
        raise ValueError(f"seed is {seed}; expected 0 or more")
    splits = {}
    for split, rows in zip(SPLITS, (train, validation, test), strict=True):
        if rows < 1:
            raise ValueError(f"{split}={rows}; expected 1 session or more")
        draws = random.Random(f"ctxzoo sample_sessions {seed} {split}")
        sessions = [_session(draws) for _ in range(rows)]
        splits[split] = datasets.Dataset.from_dict(
            {SESSION: [f"{split} {row}" for row in range(rows)], ITEMS: sessions}
        )
    return splits


def _session(draws: random.Random) -> list[str]:
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
    return steps


def _below(draws: random.Random, end: int) -> int:
    return int(draws.random() * end)
