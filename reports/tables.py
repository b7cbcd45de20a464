"""Tables in Markdown documents, generated from results files.

A document holds ``<!-- table: NAME -->`` and ``<!-- /table: NAME -->``, each on a line of its own; what stands between
them is written by ``python -m reports.tables README.md recipes/README.md docs/*.md docs/*/*.md``. With ``--check``
nothing is written and the exit status is 1 when a table disagrees with the results. Tables of how settings were chosen
are made from the folder of trials within that of the results, and the table of checkpoints from the folder of them
beside it.
``<!-- table: NAME, finished rows -->`` leaves out rows without a result, and the commands of what is not run.
``<!-- table: NAME.csv -->``, a line without a partner, stands for the table as the file NAME.csv beside the document,
which is written and checked as the document is.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import io
import json
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import reports
from ctxzoo.data.files import write_atomically
from ctxzoo.hub.published import PublishedCheckpoint, list_published_checkpoints
from ctxzoo.results.result import TRIALS, RunResult, read_results
from ctxzoo.results.table_parts import NOT_RUN, NOTHING

Make = Callable[..., str]


def collect_tables(kind: str) -> dict[str, Make]:
    """Return the tables that the modules reports/tables_*.py define, by name.

    Args:
        kind: Name of the dictionary that modules define, such as "TABLES".

    Raises:
        ValueError: Two modules have a table of one name.
    """
    tables_of_modules: dict[str, Make] = {}
    for module in sorted(module.name for module in pkgutil.iter_modules(reports.__path__)):
        if module.startswith("tables_"):
            tables = getattr(importlib.import_module(f"reports.{module}"), kind, {})
            if twice := tables_of_modules.keys() & tables.keys():
                raise ValueError(f"two tables are called {', '.join(twice)}, one in reports/{module}.py; rename one")
            tables_of_modules |= tables
    return tables_of_modules


TABLES = collect_tables("TABLES")  # of results
TRIAL_TABLES = collect_tables("TRIAL_TABLES")  # of the runs by which settings were chosen
CHECKPOINT_TABLES = collect_tables("CHECKPOINT_TABLES")  # of results and published checkpoints
FINISHED = ", finished rows"  # behind the name of a table
EMPTY = {NOTHING, "", "0"}  # cells of a row without a result; 0 trainings
KNOWN = (*TABLES, *TRIAL_TABLES, *CHECKPOINT_TABLES)


def read_trials(folder: Path) -> list[RunResult]:
    """Return the trial runs, by which settings were chosen, in a folder of results; empty if it has none."""
    return read_results(folder / TRIALS) if (folder / TRIALS).is_dir() else []


def render_tables(
    text: str, results: list[RunResult], trials: Sequence[RunResult] = (), published: Sequence[PublishedCheckpoint] = ()
) -> str:
    """Return the document ``text`` with each marked table written anew from results.

    Raises:
        ValueError: a table is not in ``KNOWN``, occurs twice, or a marker has no partner.
    """
    for marked, position in reversed(_find_table_positions(text).items()):
        text = text[: position.start] + _render_content(marked, results, trials, published) + text[position.stop :]
    return text


def find_stale_tables(
    text: str, results: list[RunResult], trials: Sequence[RunResult] = (), published: Sequence[PublishedCheckpoint] = ()
) -> list[str]:
    """Return the names of the tables in a document that differ from what the results give."""
    return [
        name
        for name, position in _find_table_positions(text).items()
        if text[position] != _render_content(name, results, trials, published)
    ]


def render_csv_files(
    text: str, results: list[RunResult], trials: Sequence[RunResult] = (), published: Sequence[PublishedCheckpoint] = ()
) -> dict[str, str]:
    """Return the content of the CSV files that a document asks for, by their names.

    Raises:
        ValueError: a table is not in ``KNOWN``.
    """
    files = {}
    for name in re.findall(r"^<!-- table: (.+)\.csv -->$", text, flags=re.MULTILINE):
        if name not in KNOWN:
            raise ValueError(f"unknown table {name!r}; known: {', '.join(KNOWN)}")
        files[f"{name}.csv"] = convert_to_csv(_make_table(name, results, trials, published))
    return files


def convert_to_csv(table: str) -> str:
    """Return the rows of a Markdown table as CSV, without the commands below it."""
    buffer = io.StringIO()
    lines = table.partition("\n\n")[0].splitlines()
    rows = [[cell.replace(r"\|", "|") for cell in line[2:-2].split(" | ")] for line in lines]
    csv.writer(buffer, lineterminator="\n").writerows([rows[0], *rows[2:]])
    return buffer.getvalue()


def _render_content(
    marked: str, results: list[RunResult], trials: Sequence[RunResult], published: Sequence[PublishedCheckpoint]
) -> str:
    """Return what stands between the markers of a table; the marker's name may ask for finished rows alone."""
    name = marked.removesuffix(FINISHED)
    table = _make_table(name, results, trials, published)
    return f"\n{table if name == marked else _keep_finished_rows(table)}\n\n"


def _make_table(
    name: str, results: list[RunResult], trials: Sequence[RunResult], published: Sequence[PublishedCheckpoint]
) -> str:
    """Return a table in Markdown by its name, from the kind of results that it shows."""
    if name in CHECKPOINT_TABLES:
        return CHECKPOINT_TABLES[name](results, published)
    return TRIAL_TABLES[name](list(trials)) if name in TRIAL_TABLES else TABLES[name](results)


def _keep_finished_rows(table: str) -> str:
    """Return the rows of a Markdown table that have a result, without the commands below it."""
    return "\n".join(line for line in table.partition("\n\n")[0].splitlines() if _holds_a_result(line))


def _holds_a_result(row: str) -> bool:
    """Return whether a row of a Markdown table has a cell, after the first, that shows a result."""
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    return any(cell not in EMPTY and not cell.startswith(NOT_RUN) for cell in cells[1:])


def _find_table_positions(text: str) -> dict[str, slice]:
    """Return the range of characters between the markers of each table in a document, by table name."""
    positions: dict[str, slice] = {}
    name, start = None, 0
    for marker in re.finditer(r"^<!-- (/?)table: (.+)(?<!\.csv) -->\n?", text, flags=re.MULTILINE):
        if marker[2].removesuffix(FINISHED) not in KNOWN:
            raise ValueError(f"unknown table {marker[2]!r}; known: {', '.join(KNOWN)}")
        if name != (marker[2] if marker[1] else None):
            raise ValueError(
                f"{marker[0].strip()!r} does not follow {'its opening' if marker[1] else 'a closed'} marker"
            )
        if marker[1]:
            positions[marker[2]] = slice(start, marker.start())
            name = None
        elif marker[2] in positions:
            raise ValueError(f"table {marker[2]!r} occurs twice in one document; keep one")
        else:
            name, start = marker[2], marker.end()
    if name is not None:
        raise ValueError(f"'<!-- table: {name} -->' is not closed by '<!-- /table: {name} -->'")
    return positions


def write_csv(results: Iterable[RunResult], path: str | Path) -> None:
    """Write runs to a CSV file, a line for each.

    Nested fields have names such as ``metrics.test/f1``; lists are JSON, absent values empty.
    """
    flat = [_flatten_dict(asdict(result)) for result in results]
    columns = list(dict.fromkeys(key for row in flat for key in row))
    order = list(RunResult.__dataclass_fields__)
    columns.sort(key=lambda key: (order.index(key.split(".")[0]), key))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    write_atomically(Path(path), buffer.getvalue().encode())


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite or check the tables of the documents named on the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m reports.tables", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("documents", nargs="+", type=Path, help="Markdown files that hold tables")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of results files")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when a table is out of date")
    parser.add_argument("--csv", type=Path, help="also write all results into this CSV file")
    options = parser.parse_args(arguments)
    stale: dict[Path, list[str]] = {}
    texts: dict[Path, str] = {}
    document = options.results
    try:
        results, trials = read_results(options.results), read_trials(options.results)
        runs = results, trials, list_published_checkpoints(options.results.parent)
        for document in options.documents:
            text = document.read_text(encoding="utf-8")
            if names := find_stale_tables(text, *runs):
                stale[document], texts[document] = names, render_tables(text, *runs)
            for name, content in render_csv_files(text, *runs).items():
                file = document.parent / name
                if not file.is_file() or file.read_text(encoding="utf-8") != content:
                    stale[file], texts[file] = [file.stem], content
    except (OSError, ValueError, TypeError) as error:
        parser.error(f"{document}: {error}")
    if options.check:
        for document, names in stale.items():
            print(f"{document}: {', '.join(names)} disagree with {options.results}; run without --check to rewrite")
        return int(bool(stale))
    for document, text in texts.items():
        write_atomically(document, text.encode())
    if options.csv:
        write_csv(results, options.csv)
    return 0


def _flatten_dict(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested dictionaries as one, with keys joined by dots and lists as JSON."""
    flat: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, dict):
            flat.update(_flatten_dict(item, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = json.dumps(item) if isinstance(item, list) else item
    return flat


if __name__ == "__main__":
    sys.exit(main())
