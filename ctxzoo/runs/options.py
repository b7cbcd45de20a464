"""Options of recipes that train nothing: what each may hold, and how an error names them."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import Field, field, fields
from typing import Any

from ctxzoo.training.arguments import COUNT, POSITIVE, SEED, SIZE, Range

SCORED = ("test", "validation")
_HELP = "split to score at the end; validation: to choose settings, test is then neither scored nor shown"
_ASIDE = re.compile(r" \(or set `(\w+)`([^)]*)\)")


def score_option() -> str:
    """Return a field of a dataclass of settings; `check_settings` knows its values by its name, `score`."""
    value: str = field(default=SCORED[0], metadata={"help": _HELP})
    return value


RANGES = {
    **dict.fromkeys(
        (
            "at_least",
            "batch_size",
            "epochs",
            "keep_words",
            "lengths",
            "max_length",
            "min_count",
            "negative_samples",
            "restarts",
            "samples",
            "steps",
            "test_size",
            "test_words",
            "top",
            "width",
            "window",
            "word_dim",
        ),
        SIZE,
    ),
    **dict.fromkeys(
        (
            "logit_learning_rate",
            "logit_rank",
            "min_overlap",
            "num_workers",
            "processes",
            "questions",
            "subsampling",
            "vectors_std",
        ),
        COUNT,
    ),
    "learning_rate": POSITIVE,
    **dict.fromkeys(("evaluation_seed", "seed", "seeds"), SEED),
    "folds": Range(2),
}
# The number of threads; 0 stands for all of them where that is the default.
THREADS = "threads"
NAMES = {"score": SCORED}


def check_settings(settings: Any) -> None:
    """Check every number of a dataclass of settings, those in lists too, and every name that is one of a few.

    Raises:
        ValueError: a number is out of its range, or not finite, or a name is unknown; the message names the setting and
            what was expected.
    """
    for one in fields(settings):
        value = getattr(settings, one.name)
        if one.name in NAMES and value not in NAMES[one.name]:
            raise ValueError(f"{one.name}={value!r}: expected one of {', '.join(NAMES[one.name])}")
        allowed = range_of(one)
        for number in value if isinstance(value, list) else [value]:
            if allowed is not None and is_number(number) and number not in allowed:
                raise ValueError(f"{one.name}={number}: expected {allowed}")


def range_of(field: Field[Any]) -> Range | None:
    """Return the range of a setting, or None where it has no bounds."""
    if field.name == THREADS:
        return COUNT if field.default == 0 else SIZE
    return RANGES.get(field.name)


def is_number(value: Any) -> bool:
    """Return whether a value is an int or a float, and no bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def advice_for(message: str, options: Container[str]) -> str:
    """Return a message whose asides, "(or set `name` …)", name arguments, for a command that has these options.

    `name` becomes `--name`, or `--names` where the option takes several, and `to True` becomes `to yes`; where there is
    no such option the aside is left out.
    """

    def told(aside: re.Match[str]) -> str:
        option = next((name for name in (aside[1], f"{aside[1]}s") if name in options), None)
        rest = re.sub(r"`(\w+)`", r"--\1", aside[2]).replace(" to True", " to yes")
        return "" if option is None else f" (or set --{option}{rest})"

    return _ASIDE.sub(told, message)
