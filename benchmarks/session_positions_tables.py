"""The table of `format_session_positions_table` with its aim."""

from __future__ import annotations

from benchmarks.session_positions import AIM, AUTHORS, ONE_PASS
from ctxzoo.results.table_parts import format_markdown_table

Row = dict[str, str]


def format_session_positions_table(rows: list[Row]) -> str:
    """Return the Markdown table of seconds an epoch, and their ratios to prefixes as examples, the authors' way, and to
    NARM.
    """
    authors = {row["model"]: float(row["seconds"]) for row in rows if row["side"] == AUTHORS}
    narm = {row["side"]: float(row["seconds"]) for row in rows if row["model"] == "NARM"}
    body = []
    for row in rows:
        part = float(row["seconds"]) / authors[row["model"]]
        aim = ("reached" if part <= AIM else "missed") if row["side"] == ONE_PASS else ""
        seconds, predictions = float(row["seconds"]), f"{int(row['predictions']):,}"
        times_narm = f"{seconds / narm[row['side']]:.1f}"
        cells = [
            row["model"],
            row["side"],
            row["batches"],
            predictions,
            f"{seconds:.1f}",
            times_narm,
            f"{part:.2f}",
            aim,
        ]
        body.append(cells)
    headings = ["model", "side", "batches", "predictions", "seconds an epoch", "times NARM's"]
    headings += ["of prefixes", "aim: 1/3 at most"]
    return format_markdown_table(headings, body, left_aligned=2)
