"""Tables of `second_order_attention` with its aims, and on a GPU the floor."""

from __future__ import annotations

from benchmarks.length_tables import (
    Columns,
    Line,
    Row,
    digits,
    growth,
    least_ratio,
    milliseconds,
    picture,
    ratios,
    table,
    tables,
    verdict,
)

RATIO_AIM, EXPONENT_AIM = 10.0, 1.15  # contextualizer against the encoder layer, CPU
FUSED_AIM, FUSED_FROM, FLOOR_AIM = 3.0, 512, 2.0  # triton against plain, forward and backward, GPU


def second_order_attention(rows: list[Row]) -> str:
    """Return the plot, and for each comparison, precision and number of threads the tables that have numbers."""
    return picture(rows, "second_order_attention", "layers") + tables(rows, _tables)


def _tables(lines: list[Line]) -> list[str]:
    one = lines[0][0]
    with_floor = any(row["floor_seconds"] for row in lines[0])
    timed = [*lines, *(_floor(line) for line in lines if with_floor and line[0]["side"] == one["side"])]
    found = [milliseconds(timed, "m"), *ratios(lines, "m", _ratio_verdicts(one))]
    if with_floor:
        heading = f"at most {FLOOR_AIM:g} from n = {FUSED_FROM}"
        times = table("times the floor", lambda row: digits(_over_floor(row)), lines, "m", {heading: _floor_verdict})
        found.append(times)
    return found


def _floor(line: Line) -> Line:
    """Return the rows with the floor instead of what a side took."""
    side = "floor: each tensor moved once"
    return [
        {**row, "side": side, "seconds": row["floor_seconds"], "exponent": "", "peak_memory_mb": ""} for row in line
    ]


def _ratio_verdicts(one: Row) -> Columns:
    """Return the columns with the aims of a comparison."""
    if one["comparison"] == "layers" and one["device"] == "cpu":
        return {
            f"at least {RATIO_AIM:g}": lambda line: least_ratio(line, RATIO_AIM) if _ours(line) else "",
            f"exponent at most {EXPONENT_AIM:g}": lambda line: growth(line, EXPONENT_AIM) if _ours(line) else "",
        }
    if one["comparison"] == "attention alone" and one["device"] == "cuda":
        heading = f"at least {FUSED_AIM:g} from n = {FUSED_FROM}"
        return {heading: lambda line: least_ratio(line, FUSED_AIM, FUSED_FROM) if _fused(line) else ""}
    return {}


def _ours(line: Line) -> bool:
    return line[0]["model"] == "contextualizer"


def _fused(line: Line) -> bool:
    return line[0]["side"] == "triton" and line[0]["pass"] == "forward and backward"


def _over_floor(row: Row) -> str:
    return str(float(row["seconds"]) / float(row["floor_seconds"])) if row["floor_seconds"] else ""


def _floor_verdict(line: Line) -> str:
    found = [(_over_floor(row), row["length"]) for row in line if int(row["length"]) >= FUSED_FROM]
    if not _fused(line) or not found or not all(times for times, _ in found):
        return ""
    most, length = max(found, key=lambda pair: float(pair[0]))
    return verdict(float(most) <= FLOOR_AIM, f"{digits(most)} at n = {length}")
