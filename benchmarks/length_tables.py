"""Tables of a benchmark `by_length`: milliseconds, ratios and fitted exponents beside the aims."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.reporting import format_number
from ctxzoo.results.table_parts import format_markdown_table

Row = dict[str, str]
Line = list[Row]  # one side and pass, by length
Columns = dict[str, Callable[[Line], str]]


def format_tables_by_setting(rows: Sequence[Row], format_tables: Callable[[list[Line]], list[str]]) -> str:
    """Join the tables of each comparison, precision and number of threads, and tell what was not measured."""
    parts = []
    for setting in dict.fromkeys((row["comparison"], format_setting_name(row)) for row in rows):
        chosen = [row for row in rows if (row["comparison"], format_setting_name(row)) == setting]
        keys = dict.fromkeys((row["side"], row["pass"]) for row in chosen)
        lines = [[row for row in chosen if (row["side"], row["pass"]) == key] for key in keys]
        measured = [line for line in lines if any(row["seconds"] for row in line)]
        parts += format_tables(measured) if measured else []
        notes = dict.fromkeys(f"{row['side']}: {row['note']}" for row in chosen if row["note"])
        parts += [f"Not measured: {'; '.join(notes)}."] if notes else []
    return "\n\n".join(parts)


def format_picture_link(rows: Sequence[Row], program: str, comparison: str) -> str:
    """Return the plot of a comparison, where it was measured, with an empty line after it."""
    if all(row["comparison"] != comparison for row in rows):
        return ""
    return f"![milliseconds by the length of the text](results/{program}-{rows[0]['device']}.png)\n\n"


def format_setting_name(row: Row) -> str:
    """Say how a row was measured: precision, and on the CPU the number of threads."""
    threads = f", {row['threads']} thread{'' if row['threads'] == '1' else 's'}" if row["device"] == "cpu" else ""
    return row["precision"] + threads


def format_milliseconds_table(lines: Sequence[Line], width: str) -> str:
    """Return a table of a pass: milliseconds by length, exponent, memory at the greatest one; `width`: its symbol."""
    longest = lines[0][-1]["length"]
    more: Columns = {f"MiB at n = {longest}": lambda line: format_number(line[-1]["peak_memory_mb"], 1)}
    if any(line[0]["exponent"] for line in lines):
        more = {"exponent": lambda line: format_number(line[0]["exponent"], 2), **more}
    return format_length_table(
        "milliseconds", lambda row: format_significant_digits(row["seconds"], 1000), lines, width, more
    )


def format_ratio_tables(lines: Sequence[Line], width: str, verdicts: Columns) -> list[str]:
    """Return a table of how much faster than the reference each side is, with aims; nothing without a measurement."""
    reference = lines[0][0]["reference"]
    others = [line for line in lines if line[0]["side"] != reference]
    if not any(row["ratio"] for line in others for row in line):
        return []
    return [
        format_length_table(
            f"speed relative to {reference}",
            lambda row: format_significant_digits(row["ratio"]),
            others,
            width,
            verdicts,
        )
    ]


def format_length_table(
    title: str, cell: Callable[[Row], str], lines: Sequence[Line], width: str, more: Columns
) -> str:
    """Return a table with a line for each side and pass, a column for each length, and `more` columns."""
    first, last = lines[0][0], lines[0][-1]
    documents = f"{first['batch_size']} documents"
    if first["batch_size"] != last["batch_size"]:
        documents = f"{int(first['batch_size']) * int(first['length']):,} words"
    headings = ["", "pass", *(f"n = {row['length']}" for row in lines[0]), *more]
    body = [
        [line[0]["side"], line[0]["pass"], *map(cell, line), *(column(line) for column in more.values())]
        for line in lines
    ]
    where = f"{format_setting_name(first)}, {documents}, {width} = {first['width']}"
    table = format_markdown_table(headings, body, left_aligned=2)
    return f"**{first['comparison'].capitalize()}, {title}** ({where})\n\n{table}"


def format_least_ratio_verdict(line: Line, aim: float, first: int = 0) -> str:
    """Return the verdict on all lengths from `first` on; nothing where one was not measured."""
    found = [(row["ratio"], row["length"]) for row in line if int(row["length"]) >= first]
    if not found or not all(ratio for ratio, _ in found):
        return ""
    least, length = min(found, key=lambda pair: float(pair[0]))
    return format_verdict(float(least) >= aim, f"{format_significant_digits(least)} at n = {length}")


def format_growth_verdict(line: Line, aim: float) -> str:
    """Return the verdict on the exponent."""
    value = line[0]["exponent"]
    return value and format_verdict(float(value) <= aim, format_number(value, 2))


def format_verdict(met: bool, value: str) -> str:
    return f"{'met' if met else 'missed'}: {value}"


def format_significant_digits(text: str, factor: float = 1) -> str:
    """Write three digits that count, at most two behind the point."""
    if not text:
        return ""
    value = float(text) * factor
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}"
