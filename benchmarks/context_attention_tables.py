"""Tables of `format_context_attention_tables` with its aims."""

from __future__ import annotations

from benchmarks.length_tables import (
    Columns,
    Line,
    Row,
    format_growth_verdict,
    format_milliseconds_table,
    format_picture_link,
    format_ratio_tables,
    format_significant_digits,
    format_tables_by_setting,
    format_verdict,
)

LENGTH, SPEED_AIM, EXPONENT_AIM = 4096, 8.0, 1.1  # attention in linear time against the fused peer
LAYER_LENGTH = 512
FACTOR_AIMS = {"kernels": 4.0, "pairs": 2.5}  # most times as long as the peer
KERNELS, CONTEXTUAL = ("ikan, direct", "ika", "mikan"), ("contextual",)
TOKEN_AIM = 2.0  # a token behind the longest text, times that behind the shortest


def format_context_attention_tables(rows: list[Row]) -> str:
    """Return the README's part on attention by text length: the plot, times and ratios in Markdown."""
    return format_picture_link(rows, "context_attention", "linear") + format_tables_by_setting(rows, _format_tables)


def _format_tables(lines: list[Line]) -> list[str]:
    """Return the tables of one setting, milliseconds and ratios; a line is the rows of one side and pass by length."""
    return [
        format_milliseconds_table(lines, "m"),
        *format_ratio_tables(lines, "m", _list_verdict_columns(lines[0][0]["comparison"])),
    ]


def _list_verdict_columns(comparison: str) -> Columns:
    """Return the columns that say whether the aims of a comparison are met, by their headings."""
    if comparison in ("linear", "causal"):
        return {
            f"at least {SPEED_AIM:g} at n = {LENGTH}": _format_speed_verdict,
            f"exponent at most {EXPONENT_AIM:g}": lambda line: format_growth_verdict(line, EXPONENT_AIM),
        }
    if comparison in ("decoding", "stock decoding"):
        return {f"at most {TOKEN_AIM:g} times as long behind the longest text": _format_token_growth_verdict}
    aim = FACTOR_AIMS[comparison]
    return {f"at most {aim:g} times as long at n = {LAYER_LENGTH}": lambda line: _format_ratio_verdict(line, aim)}


def _format_speed_verdict(line: Line) -> str:
    """Return "met: …" or "missed: …": is the side `SPEED_AIM` times as fast as the reference at `LENGTH` tokens?

    `line` holds the rows of one side and pass, by length. Empty where that length was not measured.
    """
    found = [row["ratio"] for row in line if row["length"] == str(LENGTH)]
    return (
        format_verdict(float(found[0]) >= SPEED_AIM, format_significant_digits(found[0])) if found and found[0] else ""
    )


def _format_ratio_verdict(line: Line, aim: float) -> str:
    """Return "met: …" or "missed: …": is the time at `LAYER_LENGTH` tokens at most `aim` times the reference's?

    `line` holds the rows of one side and pass, by length. Empty for other sides, and where it was not measured.
    """
    ratios = [row["ratio"] for row in line if row["length"] == str(LAYER_LENGTH)]
    if not ratios or not ratios[0] or line[0]["side"] not in (*KERNELS, *CONTEXTUAL):
        return ""
    return format_verdict(1 / float(ratios[0]) <= aim, format_significant_digits(str(1 / float(ratios[0]))))


def _format_token_growth_verdict(line: Line) -> str:
    """Return "met: …" or "missed: …" on the time of one more token, after the longest text and the shortest.

    The ratio of both times must be at most `TOKEN_AIM`. `line` holds the rows of one side and pass, by length.
    """
    seconds = [float(row["seconds"]) for row in line if row["seconds"]]
    return (
        format_verdict(seconds[-1] <= TOKEN_AIM * seconds[0], format_significant_digits(str(seconds[-1] / seconds[0])))
        if seconds
        else ""
    )
