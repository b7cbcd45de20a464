"""Messages for a person: a notice printed once, an error on one line."""

from __future__ import annotations

import sys

from huggingface_hub.errors import StrictDataclassError

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
