"""What `tables.yaml` declares for the tables: labels of rows, numbers of papers, models of the README's table."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def _read_sections() -> dict[str, dict[str, Any]]:
    """Return the content of `tables.yaml` by section."""
    sections: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("tables.yaml").read_text("utf-8"))
    return sections


def read_labels(section: str) -> dict[str, Any]:
    """Return one section of `tables.yaml`: labels of rows and numbers of papers for a module of tables.

    Args:
        section: Name of the module without ``tables_``.
    """
    return dict(_read_sections()[section])
