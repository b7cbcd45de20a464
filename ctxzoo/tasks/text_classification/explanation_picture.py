"""Explanations as pictures: a text with its words in boxes of a colour, and the weights of words as a grid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ctxzoo.results.figures import SMALL_PRINT, fonts, new_figure, save_figure, shown_word, word_grid
from ctxzoo.tasks.text_classification.explanation import Explanation, intensities, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Inches and points.
WIDTH, MARGIN, LINE, SIZE = 8.5, 0.3, 0.25, 11
BAR_LEFT, BAR_WIDTH = 2.2, 3.0
MOST_PIECES = 500  # of the text; a longer one ends in …
MOST_LABELS = 8
INK = "#1b2127"
BAR, TRACK = "#1f5fa8", "#dde2e8"
FAINTEST, STRONGEST = np.array([255, 247, 235]) / 255, np.array([245, 158, 11]) / 255


@dataclass
class Piece:
    """A part of the text on its way into the picture; `word` is its number among the words that were read."""

    shown: str
    word: int | None
    blank_before: bool
    line_breaks: int
    left: float = 0.0
    line: int = 0
    width: float = 0.0


def draw_explanation(explanation: Explanation, out: str | Path, most_rows: int = 5) -> None:
    """Write a PNG file with the label, and the text under the mean over heads or steps and under each of them.

    Args:
        explanation: of a text of up to some hundred words; runs of blanks become one. Text is set from left to right.
        out: the PNG file to write.
        most_rows: of more heads or steps, so many are drawn: those whose weights differ most from word to word.

    Raises:
        ValueError: the name of the file does not end in .png.
        ImportError: matplotlib is missing.
    """
    pieces = list(_pieces(explanation))
    _set_lines(pieces)
    blocks = _blocks(explanation, most_rows)
    labels = sorted(explanation.probabilities.items(), key=lambda item: -item[1])[:MOST_LABELS]
    block_height = (pieces[-1].line + 2.8) * LINE
    top = 2 * MARGIN + (len(labels) + 1.6) * LINE
    height = top + len(blocks) * block_height + MARGIN

    figure = new_figure(WIDTH, height)
    figure.set_layout_engine("none")  # every position is computed here
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    _write(
        axes, MARGIN, 1.4 * MARGIN, f"{shown_word(explanation.label)} {explanation.score:.1%}", size=15, weight="bold"
    )
    for number, note in enumerate(_notes(explanation)):
        _write(axes, WIDTH - MARGIN, 1.4 * MARGIN + number * LINE, note, size=9, color=SMALL_PRINT, ha="right")
    for number, (label, probability) in enumerate(labels):
        y = 2 * MARGIN + (number + 0.9) * LINE
        _write(axes, MARGIN, y, shown_word(label))
        for width, colour in ((BAR_WIDTH, TRACK), (probability * BAR_WIDTH, BAR)):
            _fill(axes, BAR_LEFT, y - 0.06, width, 0.12, colour)
        _write(axes, BAR_LEFT + BAR_WIDTH + 0.1, y, f"{probability:.1%}")
    for number, (title, weights) in enumerate(blocks):
        _draw_block(axes, top + number * block_height, title, weights, pieces)
    save_figure(figure, out)


def _notes(explanation: Explanation) -> list[str]:
    """Return at most three lines of notes."""
    notes = ["grey words were not read"]
    if explanation.has_other_ways:
        notes[0] += "; colours are not all that decides"
    if explanation.num_cut_off:
        notes.append(f"{explanation.num_cut_off:,} known words are beyond the limit")
    if explanation.offsets:
        notes.append(f"if all counted alike, each: {percent(explanation.uniform_weight)}")
    return notes


def _blocks(explanation: Explanation, most_rows: int) -> list[tuple[str, NDArray[np.float64]]]:
    """Return the titles and weights of what is drawn."""
    rows, name = explanation.weights, explanation.row_name
    if not explanation.offsets:
        return [("the model knows no word of this text", rows[0])]
    if len(rows) == 1:
        return [("weight of each word", rows[0])]
    chosen = list(range(len(rows)))
    if len(rows) > most_rows:
        chosen = sorted(np.argsort(-np.ptp(rows, axis=1), kind="stable")[:most_rows].tolist())
    single = [(f"{name} {row + 1}", rows[row]) for row in chosen]
    return [(f"mean over {len(rows)} {name}s", explanation.mean_weights()), *single]


def _pieces(explanation: Explanation) -> Iterator[Piece]:
    """Return words, and what stands between them, as far as the picture holds them."""
    blank, breaks, count = False, 0, 0
    for text, word in explanation.pieces():
        # What was not read may be many words.
        for part in [text] if word is not None else re.findall(r"\s+|\S+", text):
            if word is None and part.isspace():
                blank, breaks = True, min(2, len(part.splitlines()) - 1 + part.endswith(("\n", "\r")))
                continue
            count += 1
            yield Piece(shown_word(part) if count <= MOST_PIECES else "…", word, blank, breaks if count > 1 else 0)
            if count > MOST_PIECES:
                return
            blank, breaks = False, 0


def _set_lines(pieces: list[Piece]) -> None:
    """Measure the pieces and give each its position, in lines as wide as the picture."""
    figure: Any = new_figure(1, 1)
    from matplotlib.font_manager import FontProperties  # the figure has told where it is missing

    renderer = figure.canvas.get_renderer()
    font = FontProperties(family=fonts(), size=SIZE)

    def width(text: str) -> float:
        return float(renderer.get_text_width_height_descent(text, font, ismath=False)[0]) / float(figure.dpi)

    blank = width("a b") - width("ab")
    x, line = 0.0, 0
    for piece in pieces:
        piece.width = width(piece.shown)
        x += blank if piece.blank_before else 0.0
        if piece.line_breaks or x + piece.width > WIDTH - 2 * MARGIN:
            x, line = 0.0, line + max(1, piece.line_breaks)
        piece.left, piece.line = MARGIN + x, line
        x += piece.width


def _draw_block(axes: Axes, top: float, title: str, weights: NDArray[np.float64], pieces: list[Piece]) -> None:
    colours = intensities(weights)
    _write(axes, MARGIN, top, title, weight="bold")
    scale = ""
    if colours.any():
        scale = f"{percent(float(weights.min()))} (palest) to {percent(float(weights.max()))} (deepest)"
    elif weights.size:
        scale = "all words count alike"
    _write(axes, WIDTH - MARGIN, top, scale, size=9, color=SMALL_PRINT, ha="right")
    for piece in pieces:
        y = top + (piece.line + 1.15) * LINE
        known = piece.word is not None
        if piece.word is not None:
            colour = FAINTEST + colours[piece.word] * (STRONGEST - FAINTEST)
            _fill(axes, piece.left - 0.015, y - 0.42 * LINE, piece.width + 0.03, 0.84 * LINE, tuple(colour))
        _write(axes, piece.left, y, piece.shown, color=INK if known else SMALL_PRINT)


def _fill(axes: Axes, left: float, top: float, width: float, height: float, colour: Any) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((left, top), width, height, facecolor=colour, linewidth=0))


def _write(axes: Axes, x: float, y: float, text: str, *, size: float = SIZE, color: str = INK, **options: Any) -> None:
    settings: dict[str, Any] = {"fontfamily": fonts(), "parse_math": False, "va": "center_baseline", **options}
    axes.text(x, y, text, fontsize=size, color=color, **settings)


def plot_token_weights(weights: NDArray[Any], words: Sequence[str], out: str | Path, title: str | None = None) -> None:
    """Draw how much each word counts in each step or for each head: one row for each of them, one column for a word.

    Args:
        weights: (rows, n), fractions of a row's weight; of a step, the mean over features.
        words: n words.
        out: the PNG file to write.
        title: printed as it is, above the picture.

    Raises:
        ValueError: shapes and words disagree, or there is no word.
        ImportError: matplotlib is missing.
    """
    figure = word_grid(
        weights,
        words,
        [str(step + 1) for step in range(len(weights))],
        row_title="step or head",
        note="% of the weight of the step (mean over features) or head",
        title=title,
    )
    save_figure(figure, out)
