"""Tables of `format_beta_lstm_tables` with its aims."""

from __future__ import annotations

from benchmarks.length_tables import Row, format_setting_name, format_significant_digits, format_verdict
from ctxzoo.models.ops_beta_lstm_gates import CELLS
from ctxzoo.results.table_parts import format_markdown_table

# Label -> how many times the reference's seconds a training step may take at most, on a CPU.
AIMS = {"bibeta5": 2.5, "bibeta5, means": 1.7, "kumaraswamy": 1.8}
TRAINING = "forward and backward"


def format_beta_lstm_tables(rows: list[Row]) -> str:
    """Return the Markdown tables of the Beta-LSTM's times, one for each comparison, precision and number of threads.

    A column says which fraction of the time the draws of gates take.

    That part is what a pass takes longer than the one with means of the same cell, where it does.
    """
    parts = []
    for key in dict.fromkeys((row["comparison"], format_setting_name(row)) for row in rows):
        key_rows = [row for row in rows if (row["comparison"], format_setting_name(row)) == key]
        first_row = key_rows[0]
        where = f"{key[1]}, B = {first_row['batch_size']}, n = {first_row['length']}, I = {first_row['width']}"
        parts.append(f"**{key[0].capitalize()}** ({where})\n\n{_format_table(key_rows)}")
    return "\n\n".join(parts)


def _format_table(rows: list[Row]) -> str:
    """Return the Markdown table of one setting: a row for each side, with times, ratios to `nn.LSTM` and the aim."""
    headings = ["", "parameters"]
    for name in ("forward", "training step"):
        headings += [f"{name}, ms", f"{name}, times nn.LSTM", f"{name}, draws"]
    by_side: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_side.setdefault(row["side"], {})[row["pass"]] = row
    body = []
    for side, passes in by_side.items():
        cells = [side, f"{int(passes[TRAINING]['parameters']):,}"]
        for name in ("forward", TRAINING):
            cells += _format_row_cells(passes[name], by_side.get(f"{side}, means", {}).get(name))
        body.append([*cells, _format_aim_verdict(passes[TRAINING])])
    if any(line[-1] for line in body):
        return format_markdown_table([*headings, "aim"], body)
    return format_markdown_table(headings, [line[:-1] for line in body])


def _format_row_cells(row: Row, means: Row | None) -> list[str]:
    """Return the cells of one pass: milliseconds, ratio to `nn.LSTM`, and the fraction spent on Gamma draws.

    `means` is the row of the same cell with mean gates instead of drawn ones; None where it was not measured.
    """
    if not row["seconds"]:
        return [row["note"], "", ""]
    part = ""
    if means is not None and means["seconds"] and CELLS[row["cell"]].has_gamma_gates:
        fraction = 1 - float(means["seconds"]) / float(row["seconds"])
        part = f"{fraction:.0%}" if fraction > 0 else ""
    return [
        format_significant_digits(row["seconds"], 1000),
        format_significant_digits(str(1 / float(row["ratio"]))),
        part,
    ]


def _format_aim_verdict(row: Row) -> str:
    """Return "met: …" or "missed: …" with the ratio to `nn.LSTM`; empty for a row without an aim, and on a GPU."""
    aim = AIMS.get(row["side"])
    if aim is None or not row["ratio"] or row["device"] != "cpu":
        return ""
    times = 1 / float(row["ratio"])
    return format_verdict(times <= aim, f"at most {aim:g}")
