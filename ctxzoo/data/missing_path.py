"""A name that is neither a path nor a Hub id, recognised before a library takes it for one."""

from __future__ import annotations

import re
from pathlib import Path

_PART = r"[A-Za-z0-9_][\w.-]*"
_HUB_ID = re.compile(rf"{_PART}(?:/{_PART})?")


def refuse_missing_path(name: str, what: str) -> None:
    """Refuse a name that can only be a path, of which nothing exists.

    Args:
        name: as a user gave it.
        what: what it should be, as "checkpoint", for the message.

    Raises:
        FileNotFoundError: it neither exists as a path nor has the form of a Hub id.
    """
    if not (name and Path(name).exists()) and not _HUB_ID.fullmatch(name):
        raise FileNotFoundError(f"there is no {what} {name!r}: no such folder or file, and no Hub id, as user/name")
