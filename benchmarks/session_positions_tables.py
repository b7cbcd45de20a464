"""The table of `format_session_positions_table` with its aim."""

from __future__ import annotations

from benchmarks.session_positions import AIM, AUTHORS, ONE_PASS
from ctxzoo.results.table_parts import format_markdown_table

Row = dict[str, str]


def format_session_positions_table(rows: list[Row]) -> str:
    """Return the Markdown table of seconds an epoch, and their ratio to prefixes as examples, the authors' way."""
    authors = {row["model"]: float(row["seconds"]) for row in rows if row["side"] == AUTHORS}
    body = []
    for row in rows:
        part = float(row["seconds"]) / authors[row["model"]]
        aim = ("reached" if part <= AIM else "missed") if row["side"] == ONE_PASS else ""
        predictions = f"{int(row['predictions']):,}"
        body.append(
            [row["model"], row["side"], row["batches"], predictions, f"{float(row['seconds']):.1f}", f"{part:.2f}", aim]
        )
    headings = ["model", "side", "batches", "predictions", "seconds an epoch", "of prefixes", "aim: 1/3 at most"]
    return format_markdown_table(headings, body, left_aligned=2)
