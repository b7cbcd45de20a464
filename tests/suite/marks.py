"""Which subjects a check is run on, as marks on the check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Check = TypeVar("Check", bound=Callable[..., Any])


def costly(check: Check) -> Check:
    """Seconds for each subject: by default on the representative one only."""
    check.costly = True  # type: ignore[attr-defined]
    return check


def through_heads(check: Check) -> Check:
    """Not for the base model where a head contains it."""
    check.through_heads = True  # type: ignore[attr-defined]
    return check


def needs_base(check: Check) -> Check:
    """Only for heads that have a base model beside them."""
    check.needs_base = True  # type: ignore[attr-defined]
    return check


def needs_sequences(check: Check) -> Check:
    """Only for architectures that read sequences, which are padded."""
    check.needs_sequences = True  # type: ignore[attr-defined]
    return check


def needs_loss(check: Check) -> Check:
    """Only for heads that take labels."""
    check.needs_loss = True  # type: ignore[attr-defined]
    return check
