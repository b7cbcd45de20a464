"""Tables on a terminal or in a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence

WIDTH_OF_FILES = 160  # where the output is no terminal


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """Print a table; what it holds is text, never markup."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*headings, title=None if title is None else escape(title), box=box.SIMPLE, title_justify="left")
    for row in rows:
        table.add_row(*map(escape, row))
    Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_OF_FILES).print(table)
