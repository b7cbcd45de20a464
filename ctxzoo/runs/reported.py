"""Which settings decide a result: each option says so in its field, and results files report those that do."""

from __future__ import annotations

from dataclasses import MISSING, Field, field, fields
from typing import Any

REPORTED = "reported"  # key of a field's metadata; `_Parser` of runs/recipe.py keeps it from argparse
_IF_CHANGED = "if changed"


def reported(default: Any, help: str | None = None, *, only_if_changed: bool = False) -> Any:
    """Return a field of a dataclass of settings that decides the result of a run.

    Results files report it, and `--resume` takes a finished run only with the value that is asked for.

    Args:
        default, help: of the option.
        only_if_changed: report it unless it has its default. For options that came later: results from before them
            are still those of the same settings.
    """
    texts = {} if help is None else {"help": help}
    return field(default=default, metadata={**texts, REPORTED: _IF_CHANGED if only_if_changed else True})


def reported_settings(settings: Any) -> dict[str, Any]:
    """Return name and value of each field that decides a result, as a results file reports them.

    Args:
        settings: a dataclass, some of whose fields are made by `reported`.
    """
    return {one.name: getattr(settings, one.name) for one in fields(settings) if _is_reported(one, settings)}


def _is_reported(one: Field[Any], settings: Any) -> bool:
    rule = one.metadata.get(REPORTED)
    if rule == _IF_CHANGED:
        assert one.default is not MISSING
        return bool(getattr(settings, one.name) != one.default)
    return rule is True
