"""Tables and plot of second-order attention say what the file says, and whether an aim is met."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from benchmarks import length_plot
from benchmarks.length_plot import plot_times
from benchmarks.second_order_attention import COLOURS
from benchmarks.second_order_tables import format_second_order_tables
from benchmarks.tables import DOCUMENT

LENGTHS = (256, 512, 1024)
COMMON = {"threads": "1", "batch_size": "2", "width": "512", "pass": "forward and backward", "note": ""}
LAYERS = {"comparison": "layers", "device": "cpu", "precision": "float32", "reference": "encoder layer", **COMMON}
ALONE = {"comparison": "attention alone", "device": "cuda", "precision": "bfloat16", "reference": "plain", **COMMON}


def side(
    about: dict[str, str],
    name: str,
    model: str,
    milliseconds: tuple[float | None, ...],
    ratios: tuple[float | None, ...],
    exponent: str = "",
    floor: str = "",
) -> list[dict[str, str]]:
    """Rows of one side as they are read from a file."""
    return [
        {
            **about,
            "side": name,
            "model": model,
            "length": str(length),
            "seconds": "" if time is None else str(time / 1000),
            "ratio": "" if ratio is None else str(ratio),
            "exponent": exponent,
            "peak_memory_mb": str(length / 10),
            "floor_seconds": floor,
        }
        for length, time, ratio in zip(LENGTHS, milliseconds, ratios, strict=True)
    ]


ENCODER = side(LAYERS, "encoder layer", "encoder layer", (100, 250, 2000), (1, 1, 1), "1.4")


def line(text: str, start: str, place: int) -> list[str]:
    """Cells of the line number `place` of those that start so."""
    found = [line for line in text.splitlines() if line.startswith(f"| {start} |")]
    return [cell.strip() for cell in found[place].strip("|").split("|")]


def test_aims_of_the_layers() -> None:
    met = side(LAYERS, "K = 1", "contextualizer", (4, 10, 20), (25, 25, 100), "1.08")
    missed = side(LAYERS, "K = 5", "contextualizer", (10.2, 20, 100), (9.8, 12.5, 20), "1.081")
    peer = side(LAYERS, "GRU", "GRU", (100, 200, 400), (1, 1.25, 5), "1.0")
    text = format_second_order_tables([*ENCODER, *met, *missed, *peer])
    assert text.startswith("![milliseconds by the length of the text](results/second_order_attention-cpu.png)")
    assert "**Layers, milliseconds** (float32, 1 thread, 2 documents, m = 512)" in text
    assert line(text, "encoder layer", 0)[2:] == ["100", "250", "2,000", "1.40", "102.4"]
    assert line(text, "K = 5", 0)[2:] == ["10.2", "20.0", "100", "1.08", "102.4"]
    assert line(text, "K = 1", 1)[2:] == ["25.0", "25.0", "100", "met: 25.0 at n = 256", "met: 1.08"]
    # The cell shows 1.08, but what counts is the number of the file.
    assert line(text, "K = 5", 1)[2:] == ["9.80", "12.5", "20.0", "missed: 9.80 at n = 256", "missed: 1.08"]
    assert line(text, "GRU", 1)[-2:] == ["", ""]


def test_no_verdict_where_a_length_is_missing() -> None:
    gap = side({**LAYERS, "note": "K = 5: ended"}, "K = 5", "contextualizer", (4, 10, None), (25, 25, None))
    never = side({**LAYERS, "note": "skipped"}, "compiled", "contextualizer", (None,) * 3, (None,) * 3)
    text = format_second_order_tables([*ENCODER, *gap, *never])
    assert line(text, "K = 5", 0)[2:5] == ["4.00", "10.0", ""]
    assert line(text, "K = 5", 1)[-2:] == ["", ""]
    assert "| compiled |" not in text
    assert "Not measured: K = 5: K = 5: ended; compiled: skipped." in text


def test_aims_of_the_fused_kernel_count_from_512() -> None:
    plain = side(ALONE, "plain", "attention alone", (9, 9, 9), (1, 1, 1), floor="0.001")
    triton = side(ALONE, "triton", "attention alone", (9, 3, 1.5), (1, 3, 6), floor="0.001")
    forward = [{**row, "pass": "forward"} for row in triton]
    text = format_second_order_tables([*plain, *triton, *forward])
    assert "png" not in text
    assert line(text, "floor: each tensor moved once", 0)[2:] == ["1.00", "1.00", "1.00", ""]
    assert line(text, "triton", 2)[2:] == ["1.00", "3.00", "6.00", "met: 3.00 at n = 512"]
    assert line(text, "triton", 3)[-1] == ""  # the aims are those of both passes together
    assert line(text, "triton", 4)[2:] == ["9.00", "3.00", "1.50", "missed: 3.00 at n = 512"]
    assert line(text, "plain", 1)[2:] == ["9.00", "9.00", "9.00", ""]


def test_every_picture_of_the_document_is_there() -> None:
    shown = re.findall(r"!\[[^]]*\]\(([^)]+)\)", DOCUMENT.read_text(encoding="utf-8"))
    assert all((DOCUMENT.parent / picture).is_file() for picture in shown)


def test_the_plot_draws_the_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(length_plot, "save_figure", lambda figure, out: figures.append(figure))
    fast = side(LAYERS, "K = 1", "contextualizer", (4, 10, None), (25, 25, None), "1.1")
    forward = [{**row, "pass": "forward"} for row in ENCODER]
    rows = [*forward, *fast, *ENCODER, *side(ALONE, "plain", "attention alone", (1, 1, 1), (1, 1, 1))]
    plot_times(rows, tmp_path / "x.png", "layers", COLOURS)
    (figure,) = figures
    first, second = figure.axes
    assert first.get_title(loc="left") == "forward (float32, 1 thread)"
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["encoder layer  n^1.40"]
    # The slowest first.
    legend = [text.get_text() for text in second.get_legend().get_texts()]
    assert legend == ["encoder layer  n^1.40", "K = 1  n^1.10"]
    drawn = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in second.lines}
    assert drawn == {legend[0]: ([256, 512, 1024], [100, 250, 2000]), legend[1]: ([256, 512], [4, 10])}
    assert (second.get_xscale(), second.get_yscale()) == ("log", "log")
