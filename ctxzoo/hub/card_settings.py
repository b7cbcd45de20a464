"""The settings of a run, read back from the model card of its checkpoint."""

from __future__ import annotations

from ctxzoo.hub.card_table import BAR

HEADING = "| setting | value |"


def card_settings(card: str) -> dict[str, str]:
    """Return name to value, as the table of settings in a card of `build_card` shows them; none without that table."""
    _, found, rest = card.partition(f"{HEADING}\n")
    if not found:
        return {}
    rows = rest.partition("\n\n")[0].splitlines()[1:]  # behind the rule
    cells = [row.removeprefix("| ").removesuffix(" |").split(" | ") for row in rows]
    return {name: value.replace(BAR, "|") for name, value in cells}
