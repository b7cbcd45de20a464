"""What a search for settings may try: choices as they are, and numbers between two ends."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DIGITS = 3  # of a number that is drawn, so that a person can type it


@dataclass(frozen=True)
class Between:
    """Numbers from `low` to `high`; whole ones where both ends are.

    Attributes:
        low, high: Smallest and largest value, both allowed.
        log: Whether values are drawn uniformly on a logarithmic scale instead of a linear one.

    Raises:
        ValueError: no numbers are between the ends, or a logarithm is taken of one that is not above 0.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"low={self.low:g}, high={self.high:g}: expected low below high")
        if self.log and self.low <= 0:
            raise ValueError(f"low={self.low:g} with log=True: expected a number above 0, or log=False")

    @property
    def is_whole(self) -> bool:
        """Whether all values in the range are whole numbers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def __contains__(self, value: Any) -> bool:
        return isinstance(value, (int, float)) and self.low <= value <= self.high

    def round_number(self, value: float) -> float:
        """Round a drawn number to a few digits, within the range."""
        if self.is_whole:
            return round(value)
        return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)


Space = Mapping[str, "Sequence[Any] | Between"]


def build_learning_rate_range(rate: float) -> Between:
    """Build the range of learning rates to search, from a quarter of the usual rate to four times of it."""
    return Between(float(f"{rate / 4:.6g}"), float(f"{rate * 4:.6g}"), log=True)


def widen_space(space: Space, usual_values: Mapping[str, Any]) -> dict[str, tuple[Any, ...] | Between]:
    """Return a search space with the usual value of each setting added, and no choice twice.

    Args:
        space: Values that may be tried, by name of the setting.
        usual_values: Current value of every setting, by name.

    Raises:
        ValueError: the usual value is no number, or none above 0, where numbers are drawn.
    """
    widened: dict[str, tuple[Any, ...] | Between] = {}
    for name, values in space.items():
        usual = usual_values[name]
        if not isinstance(values, Between):
            widened[name] = tuple(dict.fromkeys((usual, *values)))
        elif isinstance(usual, (int, float)) and not (values.log and usual <= 0):
            widened[name] = Between(min(values.low, usual), max(values.high, usual), values.log)
        else:
            above = " above 0" if values.log else ""
            raise ValueError(f"{name}={usual!r}: expected a number{above}; give --{name}, and it is not searched")
    return widened


def count_combinations(space: Space) -> float:
    """Return how many combinations of values a search space has; infinity for ranges of real numbers."""
    return math.prod(
        len(values)
        if not isinstance(values, Between)
        else values.high - values.low + 1
        if values.is_whole
        else math.inf
        for values in space.values()
    )
