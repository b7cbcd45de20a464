"""What every picture is made with: a figure outside pyplot's state, fonts for any text, a whole PNG file, a grid."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ctxzoo.data.files import write_atomically
from ctxzoo.data.notices import print_once

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALL_PRINT = "#56606b"
# Tried in this order for each character; only those installed are used.
FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans Arabic",
    "Noto Sans Devanagari",
    "Arial Unicode MS",
)


class PlotsUnavailableError(ImportError):
    """matplotlib is not installed."""


def draw_if_matplotlib_is_installed(draw: Callable[[], None]) -> bool:
    """Call `draw` and return True; without matplotlib print a note once and return False."""
    try:
        draw()
    except PlotsUnavailableError as error:
        print_once(f"without pictures: {error}")
        return False
    return True


def check_matplotlib() -> None:
    """Raise an error if matplotlib is not installed, before a long command begins.

    Raises:
        PlotsUnavailableError: matplotlib is missing; the message says how to install it.
    """
    try:
        import matplotlib.backends.backend_agg
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise PlotsUnavailableError("plots need matplotlib: pip install matplotlib") from error


def new_figure(width: float, height: float) -> Figure:
    """Return a matplotlib figure that leaves pyplot's global state alone.

    Raises:
        PlotsUnavailableError: see `check_matplotlib`.
    """
    check_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def list_installed_fonts() -> list[str]:
    """Return the names in `FONTS` that are installed; raises as `check_matplotlib`."""
    check_matplotlib()
    from matplotlib import font_manager

    installed = set(font_manager.get_font_names())
    return [name for name in FONTS if name in installed] or ["sans-serif"]


def format_word_label(word: str) -> str:
    """Return a word as an axis label: at most 18 characters, without line breaks, never empty."""
    plain = "".join(" " if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") else letter for letter in word)
    plain = plain.strip() or "␣"
    return plain if len(plain) <= 18 else f"{plain[:17]}…"


def save_figure(figure: Figure, out: str | Path) -> None:
    """Write a figure as a PNG file, atomically and with at most 256 colours to save space.

    Raises:
        ValueError: the name of the file does not end in .png.
    """
    if Path(out).suffix != ".png":
        raise ValueError(f"{str(out)!r}: plots are PNG files, give a name that ends in .png")
    from PIL import Image

    full_colour, buffer = io.BytesIO(), io.BytesIO()
    figure.savefig(full_colour, format="png", facecolor="white", metadata={"Software": None})
    with Image.open(full_colour) as image:
        # Maximum coverage keeps colours that few points have.
        image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(buffer, format="png", optimize=True)
    write_atomically(Path(out), buffer.getvalue())


def draw_word_grid(
    fractions: NDArray[Any],
    words: Sequence[str],
    rows: Sequence[str],
    *,
    row_title: str,
    note: str,
    title: str | None = None,
) -> Figure:
    """Draw fractions as a grid of shaded cells with percentages, such as the attention between words.

    Args:
        fractions: (rows, n) values between 0 and 1; NaN leaves a cell empty.
        words: Words above the n columns.
        rows: Names of the rows.
        row_title, note: Description of the rows, and of the percentages.
        title: Title above the picture, printed literally.

    Raises:
        ValueError: shapes, words and rows disagree, or there is no word.
        ImportError: matplotlib is missing.
    """
    values = np.asarray(fractions, dtype=np.float64)
    if values.shape != (len(rows), len(words)) or not values.size:
        raise ValueError(
            f"weights of shape {values.shape} do not fit {len(words)} words in {len(rows)} rows: expected (rows, words)"
        )
    figure = new_figure(1.3 + 0.36 * max(len(words), 6), 1.4 + 0.3 * max(len(rows), 3))
    axes = figure.subplots()
    axes.imshow(values, cmap="Blues", vmin=0.0, aspect="auto", interpolation="nearest")
    for row, column in np.argwhere(~np.isnan(values)):
        fraction = values[row, column]
        colour = "white" if fraction > 0.6 * np.nanmax(values) else "black"
        axes.text(column, row, f"{100 * fraction:.0f}", ha="center", va="center", fontsize=8, color=colour)
    text: dict[str, Any] = {"fontsize": 10, "parse_math": False, "fontfamily": list_installed_fonts()}
    axes.set_xticks(range(len(words)), [format_word_label(word) for word in words], rotation=60, ha="right", **text)
    axes.set_yticks(range(len(rows)), [format_word_label(row) for row in rows], **text)
    axes.set_ylabel(row_title)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(note, fontsize=9, color=SMALL_PRINT)
    if title is not None:
        axes.set_title(title, loc="left", fontsize=11, parse_math=False, fontfamily=list_installed_fonts(), wrap=True)
    return figure
