"""Which runs stand in a table: those with some values, those of one mean, and the names that runs have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import refuse_repeated_runs, refuse_runs_of_different_settings

Runs: TypeAlias = Sequence[RunResult]
Where: TypeAlias = Mapping[str, Any]


def select_runs(results: Iterable[RunResult], where: Where) -> Runs:
    """Return the runs that have the values `where`, without trials of a few batches (`--tiny`).

    Args:
        results: Results of the runs of all recipes.
        where: Values that the runs must have, by field name, as ``variant``, or entry, as ``settings.window``; ``part``
            and ``name`` together stand for the tag ``part-name``.
    """
    values = {name: value for name, value in where.items() if name not in ("part", "name")}
    if len(values) < len(where):
        values["tag"] = "-".join(part for part in (where.get("part", ""), where.get("name", "")) if part)
    items = tuple(values.items())
    return [
        run
        for run in results
        if all(_read_value(run, name) == value for name, value in items) and not run.settings.get("tiny")
    ]


def _read_value(run: RunResult, name: str) -> Any:
    """Return a field of a run, such as `variant`, or with a dot an entry of one, such as `settings.window`."""
    place, _, entry = name.partition(".")
    value = getattr(run, place)
    return value.get(entry) if entry else value


def select_alike_runs(results: Iterable[RunResult], where: Where) -> Runs:
    """Return the runs that have the values `where` and differ in seed and fold alone, so that a mean makes sense.

    Raises:
        ValueError: A seed and fold is there twice, or runs were not made alike.
    """
    runs = select_runs(results, where)
    refuse_repeated_runs(runs)
    refuse_runs_of_different_settings(runs)
    return runs


def list_run_names(results: Iterable[RunResult], where: Where, part: str = "") -> list[str]:
    """Return the sorted names in the tags of runs: what follows ``part-``, or without a part the whole tag."""
    start = f"{part}-" if part else ""
    tags = {run.tag for run in select_runs(results, where) if run.tag.startswith(start)}
    return sorted(tag.removeprefix(start) for tag in tags if tag)
