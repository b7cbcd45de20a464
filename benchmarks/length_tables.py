"""Tables of a benchmark `by_length`: milliseconds, ratios and fitted exponents beside the aims."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.reporting import format_number
from ctxzoo.results.table_parts import format_markdown_table

Row = dict[str, str]
Line = list[Row]  # one side and pass, by length
Columns = dict[str, Callable[[Line], str]]


def format_tables_by_setting(rows: Sequence[Row], format_tables: Callable[[list[Line]], list[str]]) -> str:
    """Format the results of each comparison, precision and number of threads by `format_tables`; return all.

    It gets a line for each side and pass, its rows by length. What was not measured is listed below.
    """
    parts = []
    for setting in dict.fromkeys((row["comparison"], format_setting_name(row)) for row in rows):
        setting_rows = [row for row in rows if (row["comparison"], format_setting_name(row)) == setting]
        keys = dict.fromkeys((row["side"], row["pass"]) for row in setting_rows)
        lines = [[row for row in setting_rows if (row["side"], row["pass"]) == key] for key in keys]
        measured = [line for line in lines if any(row["seconds"] for row in line)]
        parts += format_tables(measured) if measured else []
        notes = dict.fromkeys(f"{row['side']}: {row['note']}" for row in setting_rows if row["note"])
        parts += [f"Not measured: {'; '.join(notes)}."] if notes else []
    return "\n\n".join(parts)


def format_picture_link(rows: Sequence[Row], program: str, comparison: str) -> str:
    """Return the Markdown link to the plot of a comparison, and an empty line; empty if it was not measured."""
    if all(row["comparison"] != comparison for row in rows):
        return ""
    return f"![milliseconds by the length of the text](results/{program}-{rows[0]['device']}.png)\n\n"


def format_setting_name(row: Row) -> str:
    """Return the setting of a row as text, such as "float32, 1 thread"; the threads on a CPU alone."""
    threads = f", {row['threads']} thread{'' if row['threads'] == '1' else 's'}" if row["device"] == "cpu" else ""
    return row["precision"] + threads


def format_milliseconds_table(lines: Sequence[Line], width: str) -> str:
    """Return the Markdown table of milliseconds by length, with the fitted exponent and the memory.

    Each of `lines` holds the rows of one side and pass; `width` is the symbol of a token's width in the headings.
    """
    longest = lines[0][-1]["length"]
    more: Columns = {f"MiB at n = {longest}": lambda line: format_number(line[-1]["peak_memory_mb"], 1)}
    if any(line[0]["exponent"] for line in lines):
        more = {"exponent": lambda line: format_number(line[0]["exponent"], 2), **more}
    return format_length_table(
        "milliseconds", lambda row: format_significant_digits(row["seconds"], 1000), lines, width, more
    )


def format_ratio_tables(lines: Sequence[Line], width: str, verdicts: Columns) -> list[str]:
    """Return the Markdown table of how many times as fast as the reference each side is; empty if unmeasured.

    `verdicts` are columns that say whether an aim is met; `width` is the symbol of a token's width in the headings.
    """
    reference = lines[0][0]["reference"]
    compared_lines = [line for line in lines if line[0]["side"] != reference]
    if not any(row["ratio"] for line in compared_lines for row in line):
        return []
    return [
        format_length_table(
            f"speed relative to {reference}",
            lambda row: format_significant_digits(row["ratio"]),
            compared_lines,
            width,
            verdicts,
        )
    ]


def format_length_table(
    title: str, cell: Callable[[Row], str], lines: Sequence[Line], width: str, more: Columns
) -> str:
    """Return a Markdown table with a row for each side and pass, a column for each length, and `more` columns."""
    first_row, last_row = lines[0][0], lines[0][-1]
    documents = f"{first_row['batch_size']} documents"
    if first_row["batch_size"] != last_row["batch_size"]:
        documents = f"{int(first_row['batch_size']) * int(first_row['length']):,} words"
    headings = ["", "pass", *(f"n = {row['length']}" for row in lines[0]), *more]
    body = [
        [line[0]["side"], line[0]["pass"], *map(cell, line), *(column(line) for column in more.values())]
        for line in lines
    ]
    where = f"{format_setting_name(first_row)}, {documents}, {width} = {first_row['width']}"
    table = format_markdown_table(headings, body, left_aligned=2)
    return f"**{first_row['comparison'].capitalize()}, {title}** ({where})\n\n{table}"


def format_least_ratio_verdict(line: Line, aim: float, shortest: int = 0) -> str:
    """Return "met: …" or "missed: …": is the ratio at least `aim` at all lengths from `shortest` on?

    `line` holds the rows of one side and pass, by length. Empty where a length was not measured.
    """
    ratios = [(row["ratio"], row["length"]) for row in line if int(row["length"]) >= shortest]
    if not ratios or not all(ratio for ratio, _ in ratios):
        return ""
    least, length = min(ratios, key=lambda pair: float(pair[0]))
    return format_verdict(float(least) >= aim, f"{format_significant_digits(least)} at n = {length}")


def format_growth_verdict(line: Line, aim: float) -> str:
    """Return "met: …" or "missed: …": does time grow with at most the power `aim` of the length?

    `line` holds the rows of one side and pass, by length. Empty where no exponent was fitted.
    """
    value = line[0]["exponent"]
    return value and format_verdict(float(value) <= aim, format_number(value, 2))


def format_verdict(met: bool, value: str) -> str:
    """Return `met: value` or `missed: value`."""
    return f"{'met' if met else 'missed'}: {value}"


def format_significant_digits(text: str, factor: float = 1) -> str:
    """Return a number, multiplied by `factor`, with three significant digits and at most two decimals."""
    if not text:
        return ""
    value = float(text) * factor
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}"
