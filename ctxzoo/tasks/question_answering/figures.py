"""Pictures of extractive question answering: which question words each context word attends to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ctxzoo.results.figures import SMALL_PRINT, format_word_label, list_installed_fonts, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_WORDS = 40  # of the context in a picture of attention
ANSWER = "#c8501e"


def plot_similarity(
    similarity: NDArray[Any],
    context_words: Sequence[str],
    question_words: Sequence[str],
    out: str | Path,
    title: str | None = None,
    highlight: tuple[int, int] | None = None,
) -> None:
    """Draw which question words each context word attends to (S1 of BiDAF, Seo et al. 2017).

    Args:
        similarity: (C, Q) similarity scores of context words and question words, *before* the softmax over the
            question, without padding.
        context_words: List of the C words of the context.
        question_words: List of the Q words of the question.
        out: The PNG file to write.
        title: Title above the picture, printed literally.
        highlight: Positions of the first and last context word of the predicted answer, around which at most 40 context
            words are shown; None: the first 40 words.

    Raises:
        ValueError: shapes and words disagree, the values are no similarities, or ``highlight`` is outside the context.
        ImportError: matplotlib is missing.
    """
    scores = _check_scores(similarity, len(context_words), len(question_words))
    if highlight is not None and not 0 <= highlight[0] <= highlight[1] < len(context_words):
        raise ValueError(f"highlight {highlight} is no (first, last) within {len(context_words)} context words")
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    first, stop = _choose_window(len(context_words), highlight)

    figure = new_figure(1.9 + 0.27 * max(stop - first, 12), 1.9 + 0.27 * len(question_words))
    axes = figure.subplots()
    image = axes.imshow(weights[first:stop].T, cmap="Blues", vmin=0.0, aspect="auto", interpolation="nearest")
    text: dict[str, Any] = {"fontsize": 9, "parse_math": False, "fontfamily": list_installed_fonts()}
    axes.set_xticks(
        range(stop - first), [format_word_label(word) for word in context_words[first:stop]], rotation=90, **text
    )
    axes.set_yticks(range(len(question_words)), [format_word_label(word) for word in question_words], **text)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(0.5, stop - first - 1), minor=True)
    axes.set_yticks(np.arange(0.5, len(question_words) - 1), minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="minor", length=0)
    notes = (
        [f"context words {first + 1} to {stop} of {len(context_words)}"] if stop - first < len(context_words) else []
    )
    notes += ["box: predicted answer"] if highlight is not None else []
    axes.set_xlabel("; ".join(notes), fontsize=9, color=SMALL_PRINT)
    if highlight is not None:
        _mark_answer(axes, highlight[0] - first, min(highlight[1], stop - 1) - first, len(question_words))
    if title is not None:
        axes.set_title(title, loc="left", fontsize=11, parse_math=False, fontfamily=list_installed_fonts(), wrap=True)
    bar = figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01, aspect=12)
    bar.set_label("attention", fontsize=9)
    bar.ax.tick_params(labelsize=8, length=0)
    bar.outline.set_visible(False)
    save_figure(figure, out)


def _mark_answer(axes: Axes, first: int, last: int, rows: int) -> None:
    """Draw a frame around the answer's columns, `first` to `last`, of a heat map with this many rows, and mark their
    labels.
    """
    from matplotlib.patches import Rectangle

    box = Rectangle((first - 0.5, -0.5), last - first + 1, rows, fill=False, edgecolor=ANSWER, linewidth=2)
    box.set_clip_on(False)
    box.set_zorder(3)
    axes.add_patch(box)
    for label in axes.get_xticklabels()[first : last + 1]:
        label.set_color(ANSWER)
        label.set_fontweight("bold")


def _check_scores(similarity: NDArray[Any], num_context_words: int, num_question_words: int) -> NDArray[np.float64]:
    """Return the similarities (context words, question words) in float64, or raise `ValueError` where their shape or a
    value is wrong.
    """
    scores = np.asarray(similarity, dtype=np.float64)
    expected = (num_context_words, num_question_words)
    if not all(expected) or scores.shape != expected:
        raise ValueError(
            f"similarity has shape {scores.shape}; expected (context words, question words) = {expected}, both at "
            "least 1: cut the padding off"
        )
    if np.isnan(scores).any() or np.isposinf(scores).any() or np.isneginf(scores).all(axis=1).any():
        raise ValueError("similarity holds NaN, +inf or a context word without any question word; mask pads with -inf")
    if num_question_words > 1 and (scores >= 0).all() and np.allclose(scores.sum(axis=1), 1.0, atol=1e-4):
        raise ValueError("similarity is already a softmax (rows sum to 1); pass the values before it")
    return scores


def _choose_window(num_words: int, highlight: tuple[int, int] | None) -> tuple[int, int]:
    """Return the first context word to show, and the one after the last, when there are too many for a picture."""
    if num_words <= MOST_WORDS or highlight is None:
        return 0, min(num_words, MOST_WORDS)
    answer = highlight[1] - highlight[0] + 1
    first = highlight[0] - max(MOST_WORDS - answer, 0) // 2
    first = max(0, min(first, num_words - MOST_WORDS))
    return first, first + MOST_WORDS
