"""Tables with a title, on a terminal or in a file."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table


def print_table_with_title(title: str, table: Table, console: Console | None = None) -> None:
    """Print a table below its title, which stays on one line however narrow the table is.

    Args:
        title: Title in plain text, without markup.
        table: Rows and columns, without a title of its own.
        console: Console to print on; default: standard output.
    """
    console = console or Console()
    console.print(title, style="italic", soft_wrap=True, markup=False, highlight=False)
    console.print(table)
