"""Arguments of a training in frozen dataclasses, which check their own values: names, ranges, choices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`.

    Attributes:
        low, high: Lower and upper bound; infinity: no bound.
        low_is_in, high_is_in: Whether the lower and the upper bound are themselves allowed.
    """

    low: float
    high: float = math.inf
    low_is_in: bool = True
    high_is_in: bool = True

    def __contains__(self, value: float) -> bool:
        above = value >= self.low if self.low_is_in else value > self.low
        return math.isfinite(value) and above and (value <= self.high if self.high_is_in else value < self.high)

    def __str__(self) -> str:
        if math.isinf(self.low):
            return "a finite number"
        low = f"{self.low:g} or more" if self.low_is_in else f"more than {self.low:g}"
        if math.isinf(self.high):
            return low
        return f"{low}, and {'at most' if self.high_is_in else 'less than'} {self.high:g}"


COUNT, SIZE = Range(0), Range(1)
POSITIVE = Range(0, low_is_in=False)
FRACTION = Range(0, 1, high_is_in=False)
SEED = Range(0, 2**32 - 1)

RANGE = "range"  # key of a field's metadata
AnyArgs = TypeVar("AnyArgs", bound="Args")


def number_field(default: Any, allowed: Range) -> Any:
    """Return a dataclass field for a number, or a list of numbers, with a range of allowed values."""
    return field(default=default, metadata={RANGE: allowed})


@dataclass(frozen=True, kw_only=True)
class Args:
    """A group of arguments; a subclass adds fields, each with its type, its default and, by `number_field`, its range.

    Raises:
        ValueError: a number out of its range, or a name that is none of a Literal; the message names all three.
    """

    def __post_init__(self) -> None:
        choices = self.choices()
        for argument in fields(self):
            value, allowed = getattr(self, argument.name), argument.metadata.get(RANGE)
            if argument.name in choices and value not in choices[argument.name]:
                known = ", ".join(str(name) for name in choices[argument.name] if name is not None)
                raise ValueError(f"{argument.name}={value!r}: expected one of {known}")
            for number in value if isinstance(value, (list, tuple)) else [value]:
                if allowed is not None and number is not None and number not in allowed:
                    raise ValueError(f"{argument.name}={number}: expected {allowed}")

    @classmethod
    def choices(cls) -> dict[str, tuple[Any, ...]]:
        """Return the allowed values of each argument that has a fixed set of them."""
        return _find_choices(cls)  # type: ignore[arg-type]  # a class can be hashed

    def values(self) -> dict[str, Any]:
        """Return the arguments by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def get_reported_values(self) -> dict[str, Any]:
        """Return the arguments by name as a result file holds them, without paths of this machine."""
        return self.values()

    def copy_with(self: AnyArgs, changes: Mapping[str, Any]) -> AnyArgs:
        """Return a copy with some values changed; the class raises the errors."""
        return replace(self, **changes)


@cache
def _find_choices(args: type[Any]) -> dict[str, tuple[Any, ...]]:
    """Return the allowed values of each argument that is annotated with `Literal`, by name."""
    choices = {}
    for name, hint in get_type_hints(args).items():
        parts = [part for part in (hint, *get_args(hint)) if get_origin(part) is Literal]
        if parts:
            optional = (None,) if type(None) in get_args(hint) else ()
            choices[name] = (*get_args(parts[0]), *optional)
    return choices
