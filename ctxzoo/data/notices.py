"""What a person is told once."""

from __future__ import annotations

import sys

_said: set[tuple[str, str]] = set()


def say_once(message: str) -> None:
    """Print a line, unless this process has printed it to the same terminal or file before."""
    told = (message, str(getattr(sys.stdout, "name", "")))
    if told not in _said:
        _said.add(told)
        print(message)
