"""The table of `format_recbole_sessions_table` with its aim."""

from __future__ import annotations

from benchmarks.recbole_sessions import OURS, PEER
from ctxzoo.results.table_parts import format_markdown_table

LABELS = {"gru4rec": "GRU4REC", "narm": "NARM"}
AIMED = "gru4rec"  # no slower than RecBole's

Row = dict[str, str]


def format_recbole_sessions_table(rows: list[Row]) -> str:
    """Return the Markdown table of scores and seconds an epoch, for each model ours beside RecBole's."""
    peers = {row["model"]: float(row["seconds"]) for row in rows if row["side"] == PEER}
    body = []
    for row in rows:
        part = float(row["seconds"]) / peers[row["model"]]
        aim = ("reached" if part <= 1 else "missed") if (row["side"], row["model"]) == (OURS, AIMED) else ""
        scores = (f"{float(row[name]):.2f}" for name in ("validation_recall", "recall", "mrr"))
        cost = (f"{float(row['seconds']):.1f}", f"{part:.2f}", aim)
        body.append([LABELS[row["model"]], row["side"], f"{int(row['parameters']):,}", *scores, row["epochs"], *cost])
    headings = [
        "model",
        "side",
        "parameters",
        "validation Recall@20",
        "test Recall@20",
        "test MRR@20",
        "epochs",
        "seconds an epoch",
        "of RecBole's",
        "aim: 1 at most",
    ]
    return format_markdown_table(headings, body, left_aligned=2)
