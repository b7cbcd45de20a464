"""Pictures of models that read a text in steps or with heads: what each attends to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctxzoo.evaluation.figures import SMALL_PRINT, fonts, new_figure, save_figure, shown_word


def plot_token_weights(weights: NDArray[Any], words: Sequence[str], out: str | Path, title: str | None = None) -> None:
    """Draw how much each word counts in each step or for each head: one row for each of them, one column for a word.

    Args:
        weights: (rows, n), shares of a row's weight; of a step, the mean over features.
        words: n words.
        out: the PNG file to write.
        title: printed as it is, above the picture.

    Raises:
        ValueError: shapes and words disagree, or there is no word.
        ImportError: matplotlib is missing.
    """
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != len(words) or not values.size:
        raise ValueError(f"weights of shape {values.shape} do not fit {len(words)} words: expected (steps, words)")
    steps = len(values)
    figure = new_figure(2.2 + 0.52 * max(len(words), 6), 1.5 + 0.42 * steps)
    axes = figure.subplots()
    image = axes.imshow(values, cmap="Blues", vmin=0.0, aspect="auto", interpolation="nearest")
    for step in range(steps):
        for place in range(len(words)):
            share = values[step, place]
            colour = "white" if share > 0.6 * values.max() else "black"
            axes.text(place, step, f"{100 * share:.0f}", ha="center", va="center", fontsize=8, color=colour)
    text: dict[str, Any] = {"fontsize": 10, "parse_math": False, "fontfamily": fonts()}
    axes.set_xticks(range(len(words)), [shown_word(word) for word in words], rotation=60, ha="right", **text)
    axes.set_yticks(range(steps), [str(step + 1) for step in range(steps)])
    axes.set_ylabel("step or head")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("% of the weight of the step (mean over features) or head", fontsize=9, color=SMALL_PRINT)
    if title is not None:
        axes.set_title(title, loc="left", fontsize=11, parse_math=False, fontfamily=fonts(), wrap=True)
    figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01).ax.tick_params(labelsize=8, length=0)
    save_figure(figure, out)
