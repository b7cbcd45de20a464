"""Generated histories: people care for plants, and the pause between two visits says what comes after the second.

Only `random.Random.random` is used, the one method whose sequence Python promises to keep: the same seed gives the same
bytes everywhere.
"""

from __future__ import annotations

import random

import datasets

from ctxzoo.data.formats import SPLITS

HISTORY, EVENTS, TIMES = "history_id", "events", "timestamps"
CARE = ("water", "feed", "prune", "repot", "spray")
LEAST_EVENTS, MORE_EVENTS = 8, 16
BEGIN, DAY = 1_700_000_000.0, 86_400.0  # seconds since 1970, and in a day
SHORT, LONG = (0.02, 0.4), (2.0, 9.0)  # days from one event to the next
FOLLOWS = 0.85  # of the events are those that the pause says


def sample_histories(
    seed: int = 0, train: int = 160, validation: int = 30, test: int = 30
) -> dict[str, datasets.Dataset]:
    """Return generated histories; the same arguments give the same rows on every machine.

    What comes next follows from the pause before the last event: behind a short one comes the next kind of care, behind
    a long one watering, in most cases. The order of events alone does not tell. A larger split begins with a smaller
    one's rows.

    Args:
        seed: 0 or more.
        train, validation, test: number of histories, 1 or more.

    Returns:
        Splits train, validation and test with the columns history_id (str), events: 8 to 23 names in the order of
        time, and timestamps: seconds since 1970, which rise.

    Raises:
        ValueError: negative seed, or a number of histories below 1.
    """
    if seed < 0:
        raise ValueError(f"seed is {seed}; expected 0 or more")
    splits = {}
    for split, rows in zip(SPLITS, (train, validation, test), strict=True):
        if rows < 1:
            raise ValueError(f"{split}={rows}; expected 1 history or more")
        draws = random.Random(f"ctxzoo sample_histories {seed} {split}")
        histories = [_history(draws) for _ in range(rows)]
        splits[split] = datasets.Dataset.from_dict(
            {
                HISTORY: [f"{split} {row}" for row in range(rows)],
                EVENTS: [events for events, _ in histories],
                TIMES: [times for _, times in histories],
            }
        )
    return splits


def _history(draws: random.Random) -> tuple[list[str], list[float]]:
    kind, time = _below(draws, len(CARE)), BEGIN + 400 * DAY * draws.random()
    events, times = [], []
    for _ in range(LEAST_EVENTS + _below(draws, MORE_EVENTS)):
        events.append(CARE[kind])
        times.append(time)
        short = draws.random() < 0.5
        low, high = SHORT if short else LONG
        pause = low + (high - low) * draws.random()
        time += pause * DAY
        if draws.random() < FOLLOWS:
            kind = (kind + 1) % len(CARE) if _was_short(times) else 0
        else:
            kind = _below(draws, len(CARE))
    return events, times


def _was_short(times: list[float]) -> bool:
    """Return whether the pause before the last event was, of which a history's first has none."""
    return len(times) < 2 or times[-1] - times[-2] < DAY


def _below(draws: random.Random, end: int) -> int:
    return int(draws.random() * end)
