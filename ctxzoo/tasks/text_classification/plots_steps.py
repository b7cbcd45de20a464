"""Pictures of models that read a text in steps or with heads: what each attends to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ctxzoo.results.figures import save_figure, word_grid


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
