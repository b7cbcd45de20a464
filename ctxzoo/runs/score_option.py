"""The option of recipes that says which split a run reports."""

from __future__ import annotations

from dataclasses import field

SCORED = ("test", "validation")
_HELP = "split to score at the end; validation: to choose settings, test is then neither scored nor shown"


def score_option() -> str:
    """A field of a dataclass of settings; `check_settings` knows its values by its name, `score`."""
    value: str = field(default=SCORED[0], metadata={"help": _HELP})
    return value
