"""Tables of `document_attention` with its aims."""

from __future__ import annotations

from benchmarks.length_tables import Columns, Line, Row, growth, least_ratio, milliseconds, picture, ratios, tables

COMPARISON, RATIO_AIM, EXPONENT_AIM = "30 heads", 3.0, 1.1  # LAMA against SAN, forward and backward


def document_attention(rows: list[Row]) -> str:
    """Return the plot, and for each comparison, precision and number of threads milliseconds and ratios."""
    return picture(rows, "document_attention", COMPARISON) + tables(rows, _tables)


def _tables(lines: list[Line]) -> list[str]:
    return [milliseconds(lines, "D"), *ratios(lines, "D", _verdicts(lines[0][0]))]


def _verdicts(one: Row) -> Columns:
    if one["comparison"] != COMPARISON:
        return {}
    return {
        f"at least {RATIO_AIM:g}": lambda line: least_ratio(line, RATIO_AIM) if _ours(line) else "",
        f"exponent at most {EXPONENT_AIM:g}": lambda line: growth(line, EXPONENT_AIM) if _ours(line) else "",
    }


def _ours(line: Line) -> bool:
    return line[0]["model"].startswith("LAMA") and line[0]["pass"] == "forward and backward"
