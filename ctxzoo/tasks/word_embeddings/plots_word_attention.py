"""Pictures of attention CBOW: the words around chosen words of a sentence, and the curve of positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ctxzoo.results.figures import new_figure, save_figure, word_grid
from ctxzoo.results.plots import COLOURS, lighten
from ctxzoo.tasks.word_embeddings.word_attention import PositionCurve, WordAttention


def plot_word_attention(
    attention: WordAttention, centres: Sequence[int], out: str | Path, title: str | None = None
) -> None:
    """Draw a row for each centre word with the shades of the words in its window; its own cell has a frame.

    Figure 1 of Ling et al. (2015) is such a row.

    Args:
        attention: of a sentence.
        centres: positions of the words that are predicted.
        out: the PNG file to write.
        title: printed as it is, above the picture.

    Raises:
        ValueError: no centre, or one that is no position in the sentence.
        ImportError: matplotlib is missing.
    """
    number = len(attention.words)
    if not centres or not all(0 <= centre < number for centre in centres):
        raise ValueError(f"centres are {list(centres)}; expected one or more positions from 0 to {number - 1}")
    chosen = np.where(attention.is_context, attention.weights, np.nan)[list(centres)]
    figure = word_grid(
        chosen,
        attention.words,
        [attention.words[centre] for centre in centres],
        row_title="predicted word",
        note="% of the attention when the framed word is predicted",
        title=title,
    )
    axes = figure.axes[0]
    for row, centre in enumerate(centres):
        xs = np.array([-0.46, 0.46, 0.46, -0.46, -0.46])
        axes.plot(centre + xs, row + np.roll(xs, 1), color=COLOURS[1], linewidth=1.5)
    save_figure(figure, out)


def plot_position_curves(curves: Mapping[str, PositionCurve], out: str | Path) -> None:
    """Draw for one or several models the softmax of s over positions, and s itself beside it.

    Args:
        curves: name -> curve; windows may differ.
        out: the PNG file to write.

    Raises:
        ValueError: no curve.
        ImportError: matplotlib is missing.
    """
    if not curves:
        raise ValueError("nothing to draw: no curves")
    figure = new_figure(11, 3.8)
    weights, logits = figure.subplots(1, 2)
    for number, (name, curve) in enumerate(curves.items()):
        # Nothing is at position 0: the line has two parts.
        positions = np.insert(np.array(curve.positions, dtype=np.float64), len(curve.positions) // 2, np.nan)
        for axes, values in ((weights, 100 * curve.weights), (logits, curve.logits)):
            axes.plot(
                positions,
                np.insert(values, len(values) // 2, np.nan),
                color=COLOURS[number % len(COLOURS)],
                marker="o",
                markersize=3,
                linewidth=1.5,
                label=name,
            )
    for axes, title in ((weights, "Share of a position, softmax of s (%)"), (logits, "Logit of a position, s")):
        axes.locator_params(axis="x", integer=True)
        axes.set_xlabel("position of the context word")
        axes.set_title(title, loc="left", fontweight="bold")
        lighten(axes)
    weights.set_ylim(bottom=0)
    handles, names = weights.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", frameon=False, fontsize=8)
    save_figure(figure, out)
