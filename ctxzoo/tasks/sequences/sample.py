"""Generated sequences: sessions of people who look through shelves, and histories of people who care for plants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ctxzoo.data.generated import RandomDraws, generate_splits
from ctxzoo.tasks.sequences.kinds import HISTORIES, SESSIONS, SequenceKind

if TYPE_CHECKING:
    import datasets

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
        seed: Seed of the generator, 0 or more.
        train, validation, test: Number of sessions to generate for each split, 1 or more.

    Returns:
        Splits train, validation and test with the columns session_id (str) and items: 5 to 16 names, in order.

    Raises:
        ValueError: negative seed, or a number of sessions below 1.
    """
    return _generate_splits(SESSIONS, _generate_session, seed, (train, validation, test))


def sample_histories(
    seed: int = 0, train: int = 160, validation: int = 30, test: int = 30
) -> dict[str, datasets.Dataset]:
    """Return generated histories; the same arguments give the same rows on every machine.

    What comes next follows from the pause before the last event: behind a short one comes the next kind of care, behind
    a long one watering, in most cases. The order of events alone does not tell. A larger split begins with a smaller
    one's rows.

    Args:
        seed, train, validation, test: Seed of the generator, 0 or more, and number of histories to generate for each
            split, 1 or more.

    Returns:
        Splits train, validation and test with the columns history_id (str), events: 8 to 23 names in the order of
        time, and timestamps: seconds since 1970, which rise.
    """
    return _generate_splits(HISTORIES, _generate_history, seed, (train, validation, test))


def _generate_splits(
    kind: SequenceKind,
    draw: Callable[[RandomDraws], tuple[list[Any], ...]],
    seed: int,
    sizes: Sequence[int],
) -> dict[str, datasets.Dataset]:
    """Generate the splits of a sample: `draw` draws one sequence as its columns, `sizes` says how many."""

    def generate_split(draws: RandomDraws, num_sequences: int, split: str) -> dict[str, list[Any]]:
        drawn = zip(*(draw(draws) for _ in range(num_sequences)), strict=True)
        names = [f"{split} {row}" for row in range(num_sequences)]
        return dict(zip((kind.ids[0], *kind.columns), (names, *map(list, drawn)), strict=True))

    return generate_splits(f"sample_{kind.several}", kind.one, seed, sizes, generate_split)


def _generate_session(draws: RandomDraws) -> tuple[list[Any], ...]:
    """Draw a session: a list of items of a few shelves, alone in a tuple."""
    liked = [draws.draw_integer(len(SHELVES)) for _ in range(LIKED)]
    shelf, item = liked[0], draws.draw_integer(THINGS)
    steps = []
    for _ in range(LEAST_STEPS + draws.draw_integer(MORE_STEPS)):
        steps.append(f"{SHELVES[shelf]} {item}")
        if draws.random() >= STAYS:
            shelf, item = liked[draws.draw_integer(LIKED)], draws.draw_integer(THINGS)
            continue
        choice = draws.random()
        if choice < NEXT:
            item = (item + 1) % THINGS
        elif choice >= NEXT + AGAIN:
            item = draws.draw_integer(THINGS)
    return (steps,)


def _generate_history(draws: RandomDraws) -> tuple[list[Any], ...]:
    """Draw a history: a list of events and a list of their times in seconds."""
    kind, time = draws.draw_integer(len(CARE)), BEGIN + 400 * DAY * draws.random()
    events, times = [], []
    for _ in range(LEAST_EVENTS + draws.draw_integer(MORE_EVENTS)):
        events.append(CARE[kind])
        times.append(time)
        low, high = SHORT if draws.random() < 0.5 else LONG
        pause = low + (high - low) * draws.random()
        time += pause * DAY
        if draws.random() < FOLLOWS:  # of the pause before this event; a history's first has none
            was_short = len(times) < 2 or times[-1] - times[-2] < DAY
            kind = (kind + 1) % len(CARE) if was_short else 0
        else:
            kind = draws.draw_integer(len(CARE))
    return events, times
