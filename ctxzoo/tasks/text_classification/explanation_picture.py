"""Explanations as pictures: a text with its words in boxes of two colours, and the attention to words as a grid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ctxzoo.data.notices import format_count
from ctxzoo.results.figures import (
    SMALL_PRINT,
    draw_word_grid,
    format_word_label,
    list_installed_fonts,
    new_figure,
    save_figure,
)
from ctxzoo.tasks.text_classification.explanation import Array, Explanation, format_signed, scale_by_largest_magnitude

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Inches and points.
WIDTH, MARGIN, LINE, SIZE = 8.5, 0.3, 0.25, 11
BAR_LEFT, BAR_WIDTH = 2.2, 3.0
MOST_PIECES = 500  # of the text; a longer one ends in …
MOST_LABELS = 8
INK = "#1b2127"
BAR, TRACK = "#1f5fa8", "#dde2e8"
PAPER, FOR, AGAINST = (np.array(colour) / 255 for colour in ((255, 255, 255), (96, 157, 250), (247, 170, 40)))


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


def draw_explanation(explanation: Explanation, out: str | Path, most_labels: int = 2) -> None:
    """Write a PNG file with the probabilities, and the text coloured by what its words add to the score of each label.

    Args:
        explanation: Explanation to draw, of a left-to-right text of up to a few hundred words.
        out: Path of the PNG file to write.
        most_labels: Largest number of labels for which the text is coloured, the most probable ones first.

    Raises:
        ValueError: the name of the file does not end in .png.
        ImportError: matplotlib is missing.
    """
    pieces = list(_split_into_pieces(explanation))
    _lay_out_lines(pieces)
    labels = sorted(explanation.probabilities.items(), key=lambda item: -item[1])[:MOST_LABELS]
    blocks: list[tuple[str, Array | None]] = [("the model knows no word of this text", None)]
    if not explanation.no_known_word:
        blocks = [
            (f"for {format_word_label(one)}", explanation.contributions_to(one)) for one, _ in labels[:most_labels]
        ]
    given = [f"{format_word_label(one)} {explanation.probabilities[one]:.1%}" for one in explanation.labels]
    block_height = (pieces[-1].line + 2.8) * LINE
    top = 2 * MARGIN + (len(labels) + 1.6) * LINE
    height = top + len(blocks) * block_height + MARGIN

    figure = new_figure(WIDTH, height)
    figure.set_layout_engine("none")  # every position is computed here
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    _draw_text(
        axes,
        MARGIN,
        1.4 * MARGIN,
        ", ".join(given) or "no label",
        size=15,
        weight="bold",
    )
    for number, note in enumerate(_write_notes(explanation)):
        _draw_text(axes, WIDTH - MARGIN, 1.4 * MARGIN + number * LINE, note, size=9, color=SMALL_PRINT, ha="right")
    for number, (label, probability) in enumerate(labels):
        y = 2 * MARGIN + (number + 0.9) * LINE
        _draw_text(axes, MARGIN, y, format_word_label(label))
        for width, colour in ((BAR_WIDTH, TRACK), (probability * BAR_WIDTH, BAR)):
            _draw_rectangle(axes, BAR_LEFT, y - 0.06, width, 0.12, colour)
        _draw_text(axes, BAR_LEFT + BAR_WIDTH + 0.1, y, f"{probability:.1%}")
    for number, (title, weights) in enumerate(blocks):
        _draw_coloured_text(axes, top + number * block_height, title, weights, pieces)
    save_figure(figure, out)


def _write_notes(explanation: Explanation) -> list[str]:
    """Return at most two lines of notes."""
    notes = ["" if explanation.no_known_word else "blue speaks for the label, orange against; "]
    notes[0] += "grey words were not read"
    if explanation.num_cut_off:
        notes.append(f"{format_count(explanation.num_cut_off, 'known words')} beyond the limit")
    return notes


def _split_into_pieces(explanation: Explanation) -> Iterator[Piece]:
    """Return words, and what stands between them, as far as the picture holds them."""
    blank, breaks, count = False, 0, 0
    for text, word in explanation.split_text_into_pieces():
        # What was not read may be many words.
        for part in [text] if word is not None else re.findall(r"\s+|\S+", text):
            if word is None and part.isspace():
                blank, breaks = True, min(2, len(part.splitlines()) - 1 + part.endswith(("\n", "\r")))
                continue
            count += 1
            yield Piece(
                format_word_label(part) if count <= MOST_PIECES else "…", word, blank, breaks if count > 1 else 0
            )
            if count > MOST_PIECES:
                return
            blank, breaks = False, 0


def _lay_out_lines(pieces: list[Piece]) -> None:
    """Measure the pieces and give each its position, in lines as wide as the picture."""
    figure: Any = new_figure(1, 1)
    from matplotlib.font_manager import FontProperties  # the figure has told where it is missing

    renderer = figure.canvas.get_renderer()
    font = FontProperties(family=list_installed_fonts(), size=SIZE)

    def measure_width(text: str) -> float:
        return float(renderer.get_text_width_height_descent(text, font, ismath=False)[0]) / float(figure.dpi)

    blank = measure_width("a b") - measure_width("ab")
    x, line = 0.0, 0
    for piece in pieces:
        piece.width = measure_width(piece.shown)
        x += blank if piece.blank_before else 0.0
        if piece.line_breaks or x + piece.width > WIDTH - 2 * MARGIN:
            x, line = 0.0, line + max(1, piece.line_breaks)
        piece.left, piece.line = MARGIN + x, line
        x += piece.width


def _draw_coloured_text(axes: Axes, top: float, title: str, contributions: Array | None, pieces: list[Piece]) -> None:
    """Draw the text once, coloured where there are contributions."""
    _draw_text(axes, MARGIN, top, title, weight="bold")
    colours = None if contributions is None else scale_by_largest_magnitude(contributions)
    if contributions is not None:
        most = float(np.abs(contributions).max())
        _draw_text(
            axes,
            WIDTH - MARGIN,
            top,
            f"deepest: {format_signed(-most)}, {format_signed(most)}",
            size=9,
            color=SMALL_PRINT,
            ha="right",
        )
    for piece in pieces:
        y = top + (piece.line + 1.15) * LINE
        is_coloured = piece.word is not None and colours is not None
        if piece.word is not None and colours is not None:
            colour = colours[piece.word]
            shown = PAPER + abs(colour) * ((AGAINST if colour < 0 else FOR) - PAPER)
            _draw_rectangle(axes, piece.left - 0.015, y - 0.42 * LINE, piece.width + 0.03, 0.84 * LINE, tuple(shown))
        _draw_text(axes, piece.left, y, piece.shown, color=INK if is_coloured else SMALL_PRINT)


def _draw_rectangle(axes: Axes, left: float, top: float, width: float, height: float, colour: Any) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((left, top), width, height, facecolor=colour, linewidth=0))


def _draw_text(
    axes: Axes, x: float, y: float, text: str, *, size: float = SIZE, color: str = INK, **options: Any
) -> None:
    settings: dict[str, Any] = {
        "fontfamily": list_installed_fonts(),
        "parse_math": False,
        "va": "center_baseline",
        **options,
    }
    axes.text(x, y, text, fontsize=size, color=color, **settings)


def draw_token_weights(weights: NDArray[Any], words: Sequence[str], out: str | Path, title: str | None = None) -> None:
    """Draw the attention of each step or head: one row for each of them, one column for a word.

    It tells where the model looked, not what decided: that is what `draw_explanation` colours.

    Args:
        weights: (rows, n) fraction of attention that each of n words gets, by head or step; a step's values are
            averaged over features.
        words: List of the n words of the text, written above the columns.
        out: Path of the PNG file to write.
        title: Title above the picture, printed literally.

    Raises:
        ValueError: shapes and words disagree, or there is no word.
        ImportError: matplotlib is missing.
    """
    figure = draw_word_grid(
        weights,
        words,
        [str(step + 1) for step in range(len(weights))],
        row_title="step or head",
        note="% of the attention of the step (mean over features) or head",
        title=title,
    )
    save_figure(figure, out)
