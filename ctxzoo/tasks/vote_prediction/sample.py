"""Generated votes: a chamber of two parties votes on bills, whose texts say what they are about, and to whom."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ctxzoo.data.generated import RandomDraws

if TYPE_CHECKING:
    import datasets

LEGISLATOR, BILL, VOTE, TEXT, GROUP = "legislator", "bill", "vote", "text", "party"
PARTIES = ("Hill", "Shore")
SUBJECTS = {
    "roads": ("road", "bridge", "toll", "lane"),
    "schools": ("school", "teacher", "pupil", "book"),
    "fields": ("farm", "seed", "water", "harvest"),
}
LEANS = (("rule", "limit", "forbid"), ("relief", "open", "permit"))  # words of bills that Hill, and that Shore, likes
BLANKS = ("a", "bill", "to", "for", "the")
ABSENT = 0.1
HELD_OUT = 0.1  # of the votes, for each of validation and test


def sample_votes(seed: int = 0, legislators: int = 24, bills: int = 120) -> dict[str, datasets.Dataset]:
    """Return generated votes; the same arguments give the same rows on every machine.

    A legislator has a point on a line, the two parties on its two sides; a bill has a point too, which the words of its
    text tell, and a lean of all for or against it.

    Args:
        seed: Seed of the generator, 0 or more.
        legislators, bills: Number of legislators and number of bills to generate, 4 or more of each.

    Returns:
        Splits train, validation and test of the votes, drawn vote by vote, with the columns legislator, bill, vote (1
        yea, 0 nay), text (of the bill) and party.

    Raises:
        ValueError: negative seed; fewer than 4 legislators or bills.
    """
    import datasets

    if seed < 0:
        raise ValueError(f"seed is {seed}; expected 0 or more")
    if min(legislators, bills) < 4:
        raise ValueError(f"legislators={legislators}, bills={bills}: expected 4 or more of each")
    draws = RandomDraws(f"ctxzoo sample_votes {seed}")
    people = []
    for number in range(legislators):
        party = number % 2
        people.append((f"member {number}", PARTIES[party], (1 if party else -1) * (0.4 + draws.random())))
    rows: dict[str, list[tuple[str, str, int, str, str]]] = {"train": [], "validation": [], "test": []}
    for number in range(bills):
        lean = 2 * draws.random() - 1
        text = _draw_bill_text(draws, lean)
        bias = 2 * draws.random() - 0.5
        for name, group, point in people:
            chance = 1 / (1 + math.exp(-(3 * lean * point + bias)))
            vote, vote_draw, split_draw = int(draws.random() < chance), draws.random(), draws.random()
            if vote_draw < ABSENT:
                continue
            split = "test" if split_draw < HELD_OUT else "validation" if split_draw < 2 * HELD_OUT else "train"
            rows[split].append((name, f"bill {number}", vote, text, group))
    names = (LEGISLATOR, BILL, VOTE, TEXT, GROUP)
    return {
        split: datasets.Dataset.from_dict(dict(zip(names, map(list, zip(*found, strict=True)), strict=True)))
        for split, found in rows.items()
    }


def _draw_bill_text(draws: RandomDraws, lean: float) -> str:
    """Draw ten words on one subject; a lean of 1 to -1 says how often they speak for one side."""
    subject = draws.draw_item(list(SUBJECTS))
    words = []
    for _ in range(10):
        choice = draws.random()
        if choice < 0.3:
            words.append(draws.draw_item(BLANKS))
        elif choice < 0.65:
            words.append(draws.draw_item(SUBJECTS[subject]))
        else:
            side = LEANS[int(draws.random() < (1 + lean) / 2)]
            words.append(draws.draw_item(side))
    return " ".join(words)
