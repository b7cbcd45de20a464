"""Tables on a terminal or in a file, and what programs read."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, TextIO

WIDTH_OF_FILES = 160  # where the output is no terminal


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """Print a table, above it the title on one line; what they hold is text, never markup."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from ctxzoo.results.printing import print_table_with_title

    table = Table(*headings, box=box.SIMPLE)
    for row in rows:
        table.add_row(*map(escape, row))
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_OF_FILES)
    if title is None:
        console.print(table)
    else:
        print_table_with_title(title, table, console)


def print_json(content: Any, stream: TextIO) -> None:
    """Print content as JSON, for programs; what JSON does not have is a text."""
    print(json.dumps(content, indent=1, ensure_ascii=False, default=str), file=stream)
