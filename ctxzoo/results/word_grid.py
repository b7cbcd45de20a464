"""A grid of fractions: words side by side, and a row for each thing that attends to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ctxzoo.results.figures import SMALL_PRINT, fonts, new_figure, shown_word

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def word_grid(
    fractions: NDArray[Any],
    words: Sequence[str],
    rows: Sequence[str],
    *,
    row_title: str,
    note: str,
    title: str | None = None,
) -> Figure:
    """Draw fractions as shades with their percentages.

    Args:
        fractions: (rows, n); NaN leaves a cell empty.
        words: n words.
        rows: the name of each row.
        row_title, note: what the rows and the percentages are.
        title: printed as it is, above the picture.

    Raises:
        ValueError: shapes, words and rows disagree, or there is no word.
        ImportError: matplotlib is missing.
    """
    values = np.asarray(fractions, dtype=np.float64)
    if values.shape != (len(rows), len(words)) or not values.size:
        raise ValueError(
            f"weights of shape {values.shape} do not fit {len(words)} words in {len(rows)} rows: expected (rows, words)"
        )
    figure = new_figure(2.2 + 0.52 * max(len(words), 6), 1.5 + 0.42 * len(rows))
    axes = figure.subplots()
    image = axes.imshow(values, cmap="Blues", vmin=0.0, aspect="auto", interpolation="nearest")
    for row, column in np.argwhere(~np.isnan(values)):
        fraction = values[row, column]
        colour = "white" if fraction > 0.6 * np.nanmax(values) else "black"
        axes.text(column, row, f"{100 * fraction:.0f}", ha="center", va="center", fontsize=8, color=colour)
    text: dict[str, Any] = {"fontsize": 10, "parse_math": False, "fontfamily": fonts()}
    axes.set_xticks(range(len(words)), [shown_word(word) for word in words], rotation=60, ha="right", **text)
    axes.set_yticks(range(len(rows)), [shown_word(row) for row in rows], **text)
    axes.set_ylabel(row_title)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(note, fontsize=9, color=SMALL_PRINT)
    if title is not None:
        axes.set_title(title, loc="left", fontsize=11, parse_math=False, fontfamily=fonts(), wrap=True)
    figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01).ax.tick_params(labelsize=8, length=0)
    return figure
