"""The tables of `explanations.py`: attention and contributions on one part of the texts, all methods on another."""

from __future__ import annotations

from benchmarks.explanations import CHOICE, MAIN
from ctxzoo.results.table_parts import NOTHING, format_markdown_table

Row = dict[str, str]
HEADINGS = [
    "classifier",
    "five words by",
    "texts",
    "words",
    "fall",
    "kept",
    "rank",
    "passes",
    "missing",
    "CPU s a text",
]
TITLES = {MAIN: "Attention and contributions", CHOICE: "All that was tried for the network, on other texts"}
NAMES = {"attention": "attention (before)", "contributions": "contributions (now)"}


def format_explanations_table(rows: list[Row]) -> str:
    """Return the Markdown tables of how well explanations name the words that decide, one for each part.

    A row is a classifier with a method of explanation; each classifier's first row is five words drawn at random.
    """
    tables = []
    for part, title in TITLES.items():
        body = []
        of_part = [row for row in rows if row["part"] == part]
        for number, row in enumerate(of_part):
            sizes = [row["texts"], f"{float(row['words']):.0f}"]
            if not number or of_part[number - 1]["classifier"] != row["classifier"]:
                random = [f"{float(row[name]):.2f}" for name in ("random_fall", "random_kept")]
                body.append([row["classifier"], "random", *sizes, *random, *[NOTHING] * 4])
            scores = [f"{float(row[name]):.2f}" for name in ("fall", "kept", "rank")]
            costs = [NOTHING] * 3
            if row["passes"]:
                costs = [row["passes"], f"{float(row['missing']):.1%}", f"{float(row['cpu_seconds_a_text']):.2f}"]
            body.append([row["classifier"], NAMES.get(row["method"], row["method"]), *sizes, *scores, *costs])
        tables += [f"**{title}**", format_markdown_table(HEADINGS, body, left_aligned=2)]
    return "\n\n".join(tables)
