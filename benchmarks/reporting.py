"""CSV files of measurements: rows with code, machine and versions beside each number."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ctxzoo.data.files import write_atomically
from ctxzoo.results.environment import describe_hardware, format_command_line, get_library_versions
from ctxzoo.results.result import format_utc_now

RESULTS = Path(__file__).parent / "results"
NOT_COMPILED = "PYTHONDONTWRITEBYTECODE"  # has Python compile modules at each start
CARDS = RESULTS.parents[1] / "model_cards"

Value = str | int | float | None


def build_environment(**variables: str) -> dict[str, str]:
    """Return this environment with further variables, for a program whose seconds count.

    Python keeps what it compiles there, as of an installed package, also where it is told not to write it.
    """
    return {**{name: value for name, value in os.environ.items() if name != NOT_COMPILED}, **variables}


def list_checkpoints() -> list[str]:
    """Return the names of the checkpoints in `CARDS`."""
    return sorted(one.parent.name for one in CARDS.glob("*/config.json"))


def build_provenance_columns(commit: str) -> dict[str, Value]:
    """Return the columns that say how a row was made: code, machine and versions of libraries.

    `commit` is taken at the start of the run.
    """
    machine = describe_hardware()
    gpus = machine.pop("gpus")
    return {
        "commit": commit,
        **{name: value for name, value in machine.items() if not isinstance(value, list)},
        "gpus": json.dumps(gpus),
        **get_library_versions(),
        # Benchmarks import each other, so they run as modules.
        "command": format_command_line()
        .replace("python benchmarks/", "python -m benchmarks.", 1)
        .replace(".py", "", 1),
        "created": format_utc_now(),
    }


def write_rows(path: Path, rows: Sequence[Mapping[str, Value]], commit: str) -> None:
    """Write the rows of a benchmark to a CSV file, each with code, machine and versions; replaces the file.

    Raises:
        ValueError: no rows, or rows with different columns.
    """
    if len({tuple(row) for row in rows}) != 1:
        raise ValueError(f"{len(rows)} rows with {len({tuple(row) for row in rows})} sets of columns; expected one set")
    common = build_provenance_columns(commit)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [*rows[0], *common], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _round_float(value) for name, value in {**row, **common}.items()})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, buffer.getvalue().encode())


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a benchmark's CSV file, cells as text."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def format_number(text: str, decimals: int, unit: float = 1) -> str:
    """Return the number of a CSV cell, divided by `unit`, with commas and some decimals; empty for an empty cell."""
    return f"{float(text) / unit:,.{decimals}f}" if text else ""


def _round_float(value: Value) -> Value:
    """Round a float to five significant digits; return other values as they are."""
    return float(f"{value:.5g}") if isinstance(value, float) else value
