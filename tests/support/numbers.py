"""Texts and values that are alike but for the last digits of their numbers."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e-\d+)?)")


def assert_alike(found: Any, expected: Any, **tolerance: float) -> None:
    """Compare two values as JSON: words must be equal, numbers within a tolerance as `pytest.approx` takes it."""
    (words, numbers), (expected_words, expected_numbers) = (
        (parts[::2], [float(number) for number in parts[1::2]])
        for parts in (NUMBER.split(json.dumps(value)) for value in (found, expected))
    )
    assert words == expected_words
    assert numbers == pytest.approx(expected_numbers, **tolerance)
