"""The table of `format_waiting_threads_table`: a row for each setting, a column for each situation."""

from __future__ import annotations

from ctxzoo.results.table_parts import format_markdown_table


def format_waiting_threads_table(rows: list[dict[str, str]]) -> str:
    """Return the Markdown table of training steps a second, with ratios to threads that spin without a bound."""
    situations = list(dict.fromkeys(row["situation"] for row in rows))
    cells = {
        (row["setting"], row["situation"]): f"{float(row['steps_per_second']):.2f} ({float(row['ratio']):.2f})"
        for row in rows
    }
    settings = dict.fromkeys(row["setting"] for row in rows)
    return format_markdown_table(
        ["setting", *situations], [[name, *(cells[name, situation] for situation in situations)] for name in settings]
    )
