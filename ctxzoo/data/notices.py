"""Messages for a person: a notice printed once, a warning of labels that look alike, an error on one line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

from huggingface_hub.errors import StrictDataclassError

logger = logging.getLogger(__name__)

_said: set[tuple[str, str]] = set()


def say_once(message: str) -> None:
    """Print a line, unless this process has printed it to the same terminal or file before."""
    said = (message, str(getattr(sys.stdout, "name", "")))
    if said not in _said:
        _said.add(said)
        print(message)


def on_one_line(error: BaseException) -> str:
    """Return the message of an error with its line breaks as blanks; the name of its type where it has no message.

    Of an error of a configuration it is that of its cause, which names the field.
    """
    if isinstance(error, StrictDataclassError) and error.__cause__ is not None:
        return f"a setting of the model: {on_one_line(error.__cause__)}"
    return " ".join(str(error).split()) or type(error).__name__


def warn_of_lookalikes(where: str, names: Sequence[str]) -> None:
    """Warn of names that differ in blanks or case alone; each is a label of its own."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault("".join(name.split()).casefold(), []).append(name)
    for group in alike.values():
        if len(group) > 1:
            logger.warning(
                "%s: the labels %s differ in blanks or case alone; each counts as a label of its own",
                where,
                ", ".join(map(repr, group)),
            )
