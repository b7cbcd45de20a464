"""Tables of `format_second_order_tables` with its aims, and on a GPU the ratio to the least possible time."""

from __future__ import annotations

from benchmarks.length_tables import (
    Columns,
    Line,
    Row,
    format_growth_verdict,
    format_least_ratio_verdict,
    format_length_table,
    format_milliseconds_table,
    format_picture_link,
    format_ratio_tables,
    format_significant_digits,
    format_tables_by_setting,
    format_verdict,
)

RATIO_AIM, EXPONENT_AIM = 13.0, 1.08  # contextualizer against the encoder layer, CPU
FUSED_AIM, FUSED_FROM, FLOOR_AIM = 3.0, 512, 2.0  # triton against plain, forward and backward, GPU


def format_second_order_tables(rows: list[Row]) -> str:
    """Return the README's part on the Contextualizer: the plot, times and ratios of each setting in Markdown."""
    return format_picture_link(rows, "second_order_attention", "layers") + format_tables_by_setting(
        rows, _format_tables
    )


def _format_tables(lines: list[Line]) -> list[str]:
    """Return the tables of one setting: milliseconds, ratios to the reference, and on a GPU to the least time possible.

    Each of `lines` holds the results of one side and pass, a row for each length.
    """
    first_row = lines[0][0]
    with_floor = any(row["floor_seconds"] for row in lines[0])
    timed = [
        *lines,
        *(_replace_seconds_by_minimum(line) for line in lines if with_floor and line[0]["side"] == first_row["side"]),
    ]
    tables = [
        format_milliseconds_table(timed, "m"),
        *format_ratio_tables(lines, "m", _list_ratio_verdict_columns(first_row)),
    ]
    if with_floor:
        heading = f"at most {FLOOR_AIM:g} from n = {FUSED_FROM}"
        times = format_length_table(
            "times the floor",
            lambda row: format_significant_digits(_compute_ratio_to_minimum(row)),
            lines,
            "m",
            {heading: _format_minimum_verdict},
        )
        tables.append(times)
    return tables


def _replace_seconds_by_minimum(line: Line) -> Line:
    """Return copies of a side's rows with the least time possible in place of the measured one."""
    side = "floor: each tensor moved once"
    return [
        {**row, "side": side, "seconds": row["floor_seconds"], "exponent": "", "peak_memory_mb": ""} for row in line
    ]


def _list_ratio_verdict_columns(row: Row) -> Columns:
    """Return the columns that say whether the aims of a comparison are met, by their headings."""
    if row["comparison"] == "layers" and row["device"] == "cpu":
        return {
            f"at least {RATIO_AIM:g}": lambda line: (
                format_least_ratio_verdict(line, RATIO_AIM) if _is_contextualizer(line) else ""
            ),
            f"exponent at most {EXPONENT_AIM:g}": lambda line: (
                format_growth_verdict(line, EXPONENT_AIM) if _is_contextualizer(line) else ""
            ),
        }
    if row["comparison"] == "attention alone" and row["device"] == "cuda":
        heading = f"at least {FUSED_AIM:g} from n = {FUSED_FROM}"
        return {
            heading: lambda line: (
                format_least_ratio_verdict(line, FUSED_AIM, FUSED_FROM) if _is_triton_training_pass(line) else ""
            )
        }
    return {}


def _is_contextualizer(line: Line) -> bool:
    """Return whether the rows of `line` time the Contextualizer."""
    return line[0]["model"] == "contextualizer"


def _is_triton_training_pass(line: Line) -> bool:
    """Return whether the rows of `line` time the Triton kernels' forward and backward pass."""
    return line[0]["side"] == "triton" and line[0]["pass"] == "forward and backward"


def _compute_ratio_to_minimum(row: Row) -> str:
    """Return measured seconds divided by the least possible ones, as text; empty where these are unknown."""
    return str(float(row["seconds"]) / float(row["floor_seconds"])) if row["floor_seconds"] else ""


def _format_minimum_verdict(line: Line) -> str:
    """Return "met: …" or "missed: …": is Triton's training pass at most `FLOOR_AIM` times the least possible time?

    `line` holds the rows of one side and pass; lengths from `FUSED_FROM` on count.
    """
    ratios = [(_compute_ratio_to_minimum(row), row["length"]) for row in line if int(row["length"]) >= FUSED_FROM]
    if not _is_triton_training_pass(line) or not ratios or not all(times for times, _ in ratios):
        return ""
    most, length = max(ratios, key=lambda pair: float(pair[0]))
    return format_verdict(float(most) <= FLOOR_AIM, f"{format_significant_digits(most)} at n = {length}")
