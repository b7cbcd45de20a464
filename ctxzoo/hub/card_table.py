"""Tables of model cards."""

from __future__ import annotations

from collections.abc import Sequence

from ctxzoo.results.table_parts import markdown_table

BAR = "&#124;"  # stands for "|" in cells, so that `card_settings` finds their borders


def card_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with all columns flush left, whose cells hold `BAR` for each "|"."""
    return markdown_table(headings, rows, left=len(headings), bar=BAR)
