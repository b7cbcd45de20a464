"""Tables on a terminal or in a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence

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
