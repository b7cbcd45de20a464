"""The common part of scripts that draw figures: names of figures, and the files beside each."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ctxzoo.data.files import write_atomically
from ctxzoo.results.environment import describe_hardware, format_command_line, get_library_versions, git_commit
from ctxzoo.results.result import format_utc_now

MADE = "figures.json"
Settings = TypeVar("Settings")
TableRows = list[list[str | int | float]]


def check_figures(only: Iterable[str], names: Iterable[str]) -> None:
    """Raise ValueError if `only` has a name that is not in `names`, the figures that a script draws."""
    for name in only:
        if name not in names:
            raise ValueError(f"only: unknown {name!r}; known: {', '.join(names)}")


def draw_figures(
    figures: Mapping[str, Callable[[Settings, Path], TableRows]],
    settings: Settings,
    *,
    only: Sequence[str],
    folder: Path,
) -> None:
    """Draw the chosen figures; write each one's numbers to `<name>.csv`, and how it was made to figures.json.

    Args:
        figures: Functions by the figure's name, which write their pictures into a folder and return the rows of the CSV
            file, headings first.
        settings: Settings of the script, passed to the functions.
        only: Names of the figures to draw; none: all.
        folder: Folder into which figures are written.
    """
    commit = git_commit()
    folder.mkdir(parents=True, exist_ok=True)
    for name in only or figures:
        rows = figures[name](settings, folder)
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows(rows)
        write_atomically(folder / f"{name}.csv", buffer.getvalue().encode())
        provenance = {
            "command": format_command_line(),
            "commit": commit,
            "hardware": describe_hardware(),
            "versions": get_library_versions(),
            "created": format_utc_now(),
        }
        file = folder / MADE
        entries = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        write_atomically(file, (json.dumps(entries | {name: provenance}, indent=1, sort_keys=True) + "\n").encode())
        print(f"{name}: {folder / name}.csv")
