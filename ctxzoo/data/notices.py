"""Messages for a person: a notice printed once, an error on one line, a number and its unit, no needless bars."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from huggingface_hub.errors import StrictDataclassError

ROWS_FROM = "rows are counted from 0"  # as pandas and `datasets` count them; lines are counted from 1
WEIGHTS_BARS = ("Loading weights", "Writing model shards")
_ROW = re.compile(r"(?<!-)\brow \d")
_PLURAL = re.compile(r"^((?:[\w-]+ )*?)([\w-]+?)(ies|(?<=ch)es|(?<=ss)es|s)\b")
_NUMBER = re.compile(r"\[errno -?\d+\] ?", re.IGNORECASE)
_said: set[tuple[str, str]] = set()


def print_once(message: str) -> None:
    """Print a line, unless this process has printed it to the same terminal or file before."""
    said = (message, str(getattr(sys.stdout, "name", "")))
    if said not in _said:
        _said.add(said)
        print(message)


@contextmanager
def hide_weight_progress_bars() -> Iterator[None]:
    """Hide the progress bars that transformers shows while it loads or saves weights, but not those of downloads."""
    from transformers.utils import logging

    def make_bar(make: Callable[..., Any], arguments: Any, options: dict[str, Any]) -> Any:
        """Make a progress bar, hidden if it is one of those for loading weights."""
        if options.get("desc") in WEIGHTS_BARS:
            options = {**options, "disable": True}
        return make(*arguments, **options) if before is None else before(make, arguments, options)

    before = logging.set_tqdm_hook(make_bar)
    try:
        yield
    finally:
        logging.set_tqdm_hook(before)


def format_count(number: int, noun: str) -> str:
    """Return a number and what it counts: "1,200 rows without a label", "1 row without a label".

    Args:
        number: Number of things.
        noun: Plural noun for the things, ending in "s", with other words before or behind it.
    """
    if number == 1:
        noun = _PLURAL.sub(lambda plural: plural[1] + plural[2] + ("y" if plural[3] == "ies" else ""), noun)
    return f"{number:,} {noun}"


def mentions_row_number(message: str) -> bool:
    """Return whether a message names a row by its number, counted from 0, so that a hint is due."""
    return _ROW.search(message) is not None


def format_error_reason(error: Exception) -> str:
    """Return why a file or folder cannot be used, in words without the number of the error: "permission denied"."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    return _NUMBER.sub("", str(error)) or type(error).__name__


def format_error_on_one_line(error: BaseException) -> str:
    """Return the message of an error with its line breaks as blanks; the name of its type where it has no message.

    Of an error of a configuration it is that of its cause, which names the field. Of an error of the operating system
    it is the file and the reason, without the number of the error.
    """
    if isinstance(error, StrictDataclassError) and error.__cause__ is not None:
        return f"a setting of the model: {format_error_on_one_line(error.__cause__)}"
    message = str(error)
    if isinstance(error, OSError) and error.errno is not None and error.strerror:
        file = error.filename if error.filename2 is None else error.filename2
        message = error.strerror if file is None else f"{os.fsdecode(file)}: {format_error_reason(error)}"
    return " ".join(message.split()) or type(error).__name__


def format_error_with_row_hint(error: BaseException) -> str:
    """Return the error on one line and, if it names a row by number, how rows are counted."""
    message = format_error_on_one_line(error)
    return f"{message} ({ROWS_FROM})" if mentions_row_number(message) else message
