"""Tables of `context_attention` with its aims."""

from __future__ import annotations

from benchmarks.length_tables import (
    Columns,
    Line,
    Row,
    digits,
    growth,
    milliseconds,
    picture,
    ratios,
    tables,
    verdict,
)

LENGTH, SPEED_AIM, EXPONENT_AIM = 4096, 10.0, 1.1  # attention in linear time against the fused peer
LAYER_LENGTH = 512
FACTOR_AIMS = {"kernels": 4.0, "pairs": 2.5}  # most times as long as the peer
KERNELS, CONTEXTUAL = ("ikan, direct", "ika", "mikan"), ("contextual",)
TOKEN_AIM = 2.0  # a token behind the longest text, times that behind the shortest


def context_attention(rows: list[Row]) -> str:
    """Return the plot, and for each comparison, precision and number of threads the tables that have numbers."""
    return picture(rows, "context_attention", "linear") + tables(rows, _tables)


def _tables(lines: list[Line]) -> list[str]:
    return [milliseconds(lines, "m"), *ratios(lines, "m", _verdicts(lines[0][0]["comparison"]))]


def _verdicts(comparison: str) -> Columns:
    """Return the columns with the aims of a comparison."""
    if comparison in ("linear", "causal"):
        return {
            f"at least {SPEED_AIM:g} at n = {LENGTH}": _speed,
            f"exponent at most {EXPONENT_AIM:g}": lambda line: growth(line, EXPONENT_AIM),
        }
    if comparison == "decoding":
        return {f"at most {TOKEN_AIM:g} times as long behind the longest text": _token}
    aim = FACTOR_AIMS[comparison]
    return {f"at most {aim:g} times as long at n = {LAYER_LENGTH}": lambda line: _factor(line, aim)}


def _speed(line: Line) -> str:
    found = [row["ratio"] for row in line if row["length"] == str(LENGTH)]
    return verdict(float(found[0]) >= SPEED_AIM, digits(found[0])) if found and found[0] else ""


def _factor(line: Line, aim: float) -> str:
    found = [row["ratio"] for row in line if row["length"] == str(LAYER_LENGTH)]
    if not found or not found[0] or line[0]["side"] not in (*KERNELS, *CONTEXTUAL):
        return ""
    return verdict(1 / float(found[0]) <= aim, digits(str(1 / float(found[0]))))


def _token(line: Line) -> str:
    seconds = [float(row["seconds"]) for row in line if row["seconds"]]
    return verdict(seconds[-1] <= TOKEN_AIM * seconds[0], digits(str(seconds[-1] / seconds[0]))) if seconds else ""
