"""Mistakes of a caller, as changes of good arguments (`BadInput.change`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.model_cases import Batch


def drop(name: str) -> Callable[[Batch], None]:
    """Leave an argument out."""

    def change(batch: Batch) -> None:
        del batch[name]

    return change


def changed(name: str, function: Any) -> Callable[[Batch], None]:
    """Replace an argument by `function` of it."""

    def change(batch: Batch) -> None:
        batch[name] = function(batch[name])

    return change


def all_changed(function: Any) -> Callable[[Batch], None]:
    """Replace every argument by `function` of it."""

    def change(batch: Batch) -> None:
        for name in batch:
            batch[name] = function(batch[name])

    return change


def put(name: str, index: Any, value: int) -> Callable[[Batch], None]:
    """Put a value into an argument, at an index."""

    def change(batch: Batch) -> None:
        batch[name] = batch[name].clone()
        batch[name][index] = value

    return change
