"""Tables of `format_document_attention_tables` with its aims."""

from __future__ import annotations

from benchmarks.length_tables import (
    Columns,
    Line,
    Row,
    format_growth_verdict,
    format_least_ratio_verdict,
    format_milliseconds_table,
    format_picture_link,
    format_ratio_tables,
    format_tables_by_setting,
)

COMPARISON, RATIO_AIM, EXPONENT_AIM = "30 heads", 4.0, 1.1  # LAMA against SAN, forward and backward


def format_document_attention_tables(rows: list[Row]) -> str:
    """Return the README's part on LAMA's attention: the plot, and times and ratios of each setting in Markdown."""
    return format_picture_link(rows, "document_attention", COMPARISON) + format_tables_by_setting(rows, _format_tables)


def _format_tables(lines: list[Line]) -> list[str]:
    """Return the Markdown tables of one setting: milliseconds by document length, then ratios to the reference.

    Each of `lines` holds the results of one side and pass, a row for each length.
    """
    return [format_milliseconds_table(lines, "D"), *format_ratio_tables(lines, "D", _list_verdict_columns(lines[0][0]))]


def _list_verdict_columns(row: Row) -> Columns:
    """Return the columns that say whether LAMA meets its aims, by heading; none for other comparisons."""
    if row["comparison"] != COMPARISON:
        return {}
    return {
        f"at least {RATIO_AIM:g}": lambda line: (
            format_least_ratio_verdict(line, RATIO_AIM) if _is_lama_training_pass(line) else ""
        ),
        f"exponent at most {EXPONENT_AIM:g}": lambda line: (
            format_growth_verdict(line, EXPONENT_AIM) if _is_lama_training_pass(line) else ""
        ),
    }


def _is_lama_training_pass(line: Line) -> bool:
    """Return whether the rows of `line` time LAMA's forward and backward pass."""
    return line[0]["model"].startswith("LAMA") and line[0]["pass"] == "forward and backward"
