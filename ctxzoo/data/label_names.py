"""Names of labels that look like mistakes."""

from __future__ import annotations

import logging
from collections.abc import Sequence

logger = logging.getLogger(__name__)


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
