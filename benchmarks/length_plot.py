"""The picture of a benchmark `by_length`: milliseconds against the length of the text, one line for each layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.length_tables import Row, format_setting_name
from ctxzoo.results.figures import new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ("o-", "s-", "^--", "D:")  # sides with the same model, in the order of the file


def plot_times(rows: Sequence[Row], path: str | Path, comparison: str, colours: Mapping[str, str]) -> None:
    """Draw milliseconds by text length for one comparison, a line for each side, and save the picture.

    A column of panels is a pass, a row a precision and number of threads; both axes are logarithmic. The legend is in
    the order of the lines and shows the fitted exponents. Times are those of as many documents as there are at the
    greatest length.

    Nothing is drawn where there are no such rows with a time.

    Args:
        rows: Rows of the CSV file.
        path: The PNG file to write.
        comparison: Name of the comparison.
        colours: Model -> colour.

    Raises:
        ImportError: matplotlib is missing.
    """
    rows = [row for row in rows if row["comparison"] == comparison and row["seconds"]]
    if not rows:
        return
    documents = int(max(rows, key=lambda row: int(row["length"]))["batch_size"])
    settings = list(dict.fromkeys(map(format_setting_name, rows)))
    passes = list(dict.fromkeys(row["pass"] for row in rows))
    figure = new_figure(3.8 * len(passes), 3.7 * len(settings))
    panels = figure.subplots(len(settings), len(passes), squeeze=False, sharey="row")
    for index, setting in enumerate(settings):
        for axes, name in zip(panels[index], passes, strict=True):
            chosen = [row for row in rows if format_setting_name(row) == setting and row["pass"] == name]
            _draw_panel(axes, chosen, documents, colours)
            axes.set_title(f"{name} ({setting})", loc="left", fontsize=9, fontweight="bold")
        panels[index][0].set_ylim(top=20 * panels[index][0].get_ylim()[1])  # room for the legends
        panels[index][0].set_ylabel(f"milliseconds for {documents} document{'' if documents == 1 else 's'}")
    save_figure(figure, path)


def _draw_panel(axes: Axes, rows: Sequence[Row], documents: int, colours: Mapping[str, str]) -> None:
    """Draw milliseconds by document length on `axes`, a line for each side; `colours` are by model."""
    lines: dict[str, list[Row]] = {}
    for row in rows:
        lines.setdefault(row["side"], []).append(row)
    of_model: dict[str, int] = {}
    for side, points in lines.items():
        model = points[0]["model"]
        style = STYLES[of_model.setdefault(model, 0) % len(STYLES)]
        of_model[model] += 1
        grows = f"  n^{float(points[0]['exponent']):.2f}" if points[0]["exponent"] else ""
        lengths = [int(point["length"]) for point in points]
        times = [1000 * float(point["seconds"]) * documents / int(point["batch_size"]) for point in points]
        axes.plot(lengths, times, style, color=colours[model], linewidth=1.5, markersize=4, label=side + grows)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted({int(row["length"]) for row in rows})
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.set_xlabel("n, words in a document")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(which="major", color="#e6e9ed", linewidth=0.8)
    axes.set_axisbelow(True)
    # The slowest layer on top, in the legend as in the picture.
    slowest = sorted(axes.lines, key=lambda line: -float(line.get_ydata()[-1]))
    axes.legend(slowest, [str(line.get_label()) for line in slowest], frameon=False, fontsize=7.5, loc="upper left")
