"""What every picture is made with: a figure outside pyplot's state, fonts for any text, and a whole PNG file."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ctxzoo.data.files import write_atomically
from ctxzoo.data.notices import say_once

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


def draw_if_possible(draw: Callable[[], None]) -> bool:
    """Call `draw`; where matplotlib is missing, say so once and return False."""
    try:
        draw()
    except PlotsUnavailableError as error:
        say_once(f"without pictures: {error}")
        return False
    return True


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of its own, outside pyplot's global state, drawn by Agg.

    Raises:
        PlotsUnavailableError: matplotlib is missing; the message names the extra.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PlotsUnavailableError("plots need matplotlib: pip install matplotlib") from error
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def fonts() -> list[str]:
    """Return the names in `FONTS` that are installed."""
    from matplotlib import font_manager

    installed = set(font_manager.get_font_names())
    return [name for name in FONTS if name in installed] or ["sans-serif"]


def shown_word(word: str) -> str:
    """Return a word as a label: no line breaks or control characters, at most 18 characters, never empty."""
    plain = "".join(" " if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") else letter for letter in word)
    plain = plain.strip() or "␣"
    return plain if len(plain) <= 18 else f"{plain[:17]}…"


def save_figure(figure: Figure, out: str | Path) -> None:
    """Write a PNG file, whole or not at all.

    Raises:
        ValueError: the name of the file does not end in .png.
    """
    if Path(out).suffix != ".png":
        raise ValueError(f"{str(out)!r}: plots are PNG files, give a name that ends in .png")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", facecolor="white", metadata={"Software": None})
    write_atomically(Path(out), buffer.getvalue())
