"""Tables of `second_order_attention`: milliseconds, ratios and fitted exponents beside the aims."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.reporting import number
from ctxzoo.evaluation.table_parts import markdown

Row = dict[str, str]
Line = list[Row]  # one side and pass, by length
Columns = dict[str, Callable[[Line], str]]

RATIO_AIM, EXPONENT_AIM = 10.0, 1.15  # contextualizer against the encoder layer, CPU
FUSED_AIM, FUSED_FROM, FLOOR_AIM = 3.0, 512, 2.0  # triton against plain, forward and backward, GPU


def second_order_attention(rows: list[Row]) -> str:
    """The plot, and for each comparison, precision and number of threads the tables that have numbers."""
    parts = []
    if any(row["comparison"] == "layers" for row in rows):
        parts.append(
            f"![milliseconds by the length of the text](results/second_order_attention-{rows[0]['device']}.png)"
        )
    for setting in dict.fromkeys((row["comparison"], setting_name(row)) for row in rows):
        chosen = [row for row in rows if (row["comparison"], setting_name(row)) == setting]
        keys = dict.fromkeys((row["side"], row["pass"]) for row in chosen)
        lines = [[row for row in chosen if (row["side"], row["pass"]) == key] for key in keys]
        parts += _tables(lines)
        notes = dict.fromkeys(f"{row['side']}: {row['note']}" for row in chosen if row["note"])
        parts += [f"Not measured: {'; '.join(notes)}."] if notes else []
    return "\n\n".join(parts)


def setting_name(row: Row) -> str:
    """How a row was measured: precision, and on the CPU the number of threads."""
    threads = f", {row['threads']} thread{'' if row['threads'] == '1' else 's'}" if row["device"] == "cpu" else ""
    return row["precision"] + threads


def _tables(lines: Sequence[Line]) -> list[str]:
    lines = [line for line in lines if any(row["seconds"] for row in line)]
    if not lines:
        return []
    one = lines[0][0]
    where = f"{setting_name(one)}, {one['batch_size']} documents, m = {one['width']}"
    lengths = [row["length"] for row in lines[0]]

    def made(title: str, cell: Callable[[Row], str], lines: Sequence[Line], more: Columns) -> str:
        headings = ["", "pass", *(f"n = {length}" for length in lengths), *more]
        body = [
            [line[0]["side"], line[0]["pass"], *map(cell, line), *(column(line) for column in more.values())]
            for line in lines
        ]
        return f"**{one['comparison'].capitalize()}, {title}** ({where})\n\n{markdown(headings, body, left=2)}"

    growth: Columns = {
        "exponent": lambda line: number(line[0]["exponent"], 2),
        f"MiB at n = {lengths[-1]}": lambda line: number(line[-1]["peak_memory_mb"], 1),
    }
    others = [line for line in lines if line[0]["side"] != one["reference"]]
    with_floor = any(row["floor_seconds"] for row in lines[0])
    timed = [*lines, *(_floor(line) for line in lines if with_floor and line[0]["side"] == one["side"])]
    found = [made("milliseconds", lambda row: _digits(row["seconds"], 1000), timed, growth)]
    if any(row["ratio"] for line in others for row in line):
        title = f"speed relative to {one['reference']}"
        found.append(made(title, lambda row: _digits(row["ratio"]), others, _ratio_verdicts(one)))
    if with_floor:
        heading = f"at most {FLOOR_AIM:g} from n = {FUSED_FROM}"
        title = "times the floor"
        found.append(made(title, lambda row: _digits(_over_floor(row)), lines, {heading: _floor_verdict}))
    return found


def _floor(line: Line) -> Line:
    """What the floor is, in place of what a side took."""
    side = "floor: each tensor moved once"
    return [
        {**row, "side": side, "seconds": row["floor_seconds"], "exponent": "", "peak_memory_mb": ""} for row in line
    ]


def _ratio_verdicts(one: Row) -> Columns:
    """Columns with the aims of a comparison."""
    if one["comparison"] == "layers" and one["device"] == "cpu":
        return {
            f"at least {RATIO_AIM:g}": lambda line: _least_ratio(line, RATIO_AIM) if _ours(line) else "",
            f"exponent at most {EXPONENT_AIM:g}": lambda line: _growth(line) if _ours(line) else "",
        }
    if one["comparison"] == "attention alone" and one["device"] == "cuda":
        heading = f"at least {FUSED_AIM:g} from n = {FUSED_FROM}"
        return {heading: lambda line: _least_ratio(line, FUSED_AIM, FUSED_FROM) if _fused(line) else ""}
    return {}


def _ours(line: Line) -> bool:
    return line[0]["model"] == "contextualizer"


def _fused(line: Line) -> bool:
    return line[0]["side"] == "triton" and line[0]["pass"] == "forward and backward"


def _least_ratio(line: Line, aim: float, first: int = 0) -> str:
    """The verdict on all lengths from `first` on; nothing where one was not measured."""
    ratios = [(row["ratio"], row["length"]) for row in line if int(row["length"]) >= first]
    if not ratios or not all(ratio for ratio, _ in ratios):
        return ""
    least, length = min(ratios, key=lambda pair: float(pair[0]))
    return _verdict(float(least) >= aim, f"{_digits(least)} at n = {length}")


def _growth(line: Line) -> str:
    value = line[0]["exponent"]
    return value and _verdict(float(value) <= EXPONENT_AIM, number(value, 2))


def _over_floor(row: Row) -> str:
    return str(float(row["seconds"]) / float(row["floor_seconds"])) if row["floor_seconds"] else ""


def _floor_verdict(line: Line) -> str:
    found = [(_over_floor(row), row["length"]) for row in line if int(row["length"]) >= FUSED_FROM]
    if not _fused(line) or not found or not all(times for times, _ in found):
        return ""
    most, length = max(found, key=lambda pair: float(pair[0]))
    return _verdict(float(most) <= FLOOR_AIM, f"{_digits(most)} at n = {length}")


def _verdict(met: bool, value: str) -> str:
    return f"{'met' if met else 'missed'}: {value}"


def _digits(text: str, factor: float = 1) -> str:
    """Three digits that count, at most two behind the point."""
    if not text:
        return ""
    value = float(text) * factor
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}"
