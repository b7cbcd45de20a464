"""What attention CBOW has learned to look at, and pictures of it: the words around a word, and the positions.

Ling et al., "Not All Contexts Are Created Equal" (EMNLP 2015), equation (3) and Figure 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ctxzoo.models.modeling_word_embedding import WordEmbeddingPreTrainedModel
from ctxzoo.models.tokenization_word import WordTokenizer
from ctxzoo.results.figures import draw_word_grid, new_figure, save_figure
from ctxzoo.results.plots import COLOURS, remove_axes_box


@dataclass(frozen=True, eq=False)
class WordAttention:
    """A sentence, and the attention to each word when another is predicted.

    Attributes:
        words: List of the n known words of the sentence, as the tokenizer spells them.
        weights: (n, n) attention weights among n words: row t holds those of the words around word t, which sum to 1.
        is_context: (n, n) boolean, whether the word of the column is in the window around the word of the row; False
            for the word itself.
    """

    words: list[str]
    weights: NDArray[np.float64]
    is_context: NDArray[np.bool_]

    def find_positions(self, words: Sequence[str]) -> list[int]:
        """Return the positions of each of some words in the sentence, in the order of the words.

        Raises:
            ValueError: a word that the sentence does not hold.
        """
        missing = [word for word in words if word not in self.words]
        if missing:
            raise ValueError(f"{', '.join(map(repr, missing))} not among the words {' '.join(self.words)!r}")
        return [position for word in words for position, found in enumerate(self.words) if found == word]


@dataclass(frozen=True, eq=False)
class PositionCurve:
    """What a model has learned of positions, whatever the words.

    Attributes:
        positions: Positions of the window of half width b, relative to the centre word: -b to -1 and 1 to b.
        logits: (2b,) attention logit of each position, b on each side of the centre word; a constant added to all
            changes nothing.
        weights: (2b,) softmax of the position logits: attention weights, by position alone, of b words on each side.
    """

    positions: list[int]
    logits: NDArray[np.float64]
    weights: NDArray[np.float64]


def word_attention(model: WordEmbeddingPreTrainedModel, tokenizer: WordTokenizer, text: str) -> WordAttention:
    """Compute the attention weights of all words of a sentence; even weights for models without attention.

    Args:
        model: Word embedding model, with or without a head.
        tokenizer: Tokenizer that belongs to the model.
        text: Sentence to read, whose words each attend to their neighbours.

    Raises:
        ValueError: fewer than two words of the text are known.
    """
    ids: Any = tokenizer(text, return_tensors="pt")["input_ids"]
    number = ids.size(1)
    if number < 2:
        raise ValueError(f"the checkpoint knows {number} words of {text!r}; expected at least 2")
    base = model.base_model
    with torch.inference_mode():
        attentions = base(ids, output_attentions=True).attentions[0][0]  # (n, 2b)
        present = base.collect_windows(ids)[1][0]
    weights = np.zeros((number, number))
    is_context = np.zeros((number, number), dtype=bool)
    for column, position in enumerate(_list_column_positions(model)):
        centres = np.arange(max(0, -position), number - max(0, position))
        weights[centres, centres + position] = attentions[centres, column].double().numpy()
        is_context[centres, centres + position] = present[centres, column].numpy()
    return WordAttention(tokenizer.convert_ids_to_tokens(ids[0].tolist()), weights, is_context)


def position_curve(model: WordEmbeddingPreTrainedModel) -> PositionCurve:
    """Return the learned attention logit of each relative position, of a model with or without a head.

    Raises:
        ValueError: the model has no s.
    """
    logits = model.base_model.position_logits
    if logits is None:
        config = model.config
        raise ValueError(
            f"architecture={config.architecture!r} with position_logits={config.position_logits} has no logits of "
            "positions; expected attention_cbow with position_logits=True"
        )
    values = logits.detach().double()
    return PositionCurve(_list_column_positions(model), values.numpy(), values.softmax(dim=0).numpy())


def _list_column_positions(model: WordEmbeddingPreTrainedModel) -> list[int]:
    """Return the relative position that each column of the attention weights stands for."""
    window = model.config.window
    return [*range(-window, 0), *range(1, window + 1)]


def draw_word_attention(
    attention: WordAttention, centres: Sequence[int], out: str | Path, title: str | None = None
) -> None:
    """Draw the attention of centre words to the words around them, a row for each centre word.

    Figure 1 of Ling et al. (2015) is such a row.

    Args:
        attention: Attention weights of a sentence, from `word_attention`.
        centres: Positions in the sentence, from 0, of the centre words to draw.
        out: The PNG file to write.
        title: Title above the picture, printed literally.

    Raises:
        ValueError: no centre, or one that is no position in the sentence.
        ImportError: matplotlib is missing.
    """
    number = len(attention.words)
    if not centres or not all(0 <= centre < number for centre in centres):
        raise ValueError(f"centres are {list(centres)}; expected one or more positions from 0 to {number - 1}")
    chosen = np.where(attention.is_context, attention.weights, np.nan)[list(centres)]
    figure = draw_word_grid(
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


def draw_position_curves(curves: Mapping[str, PositionCurve], out: str | Path) -> None:
    """Draw the learned attention to each relative position, as softmax and as logits, for one or several models.

    Args:
        curves: Position curve of each model to compare, by the model's name; windows may differ in width.
        out: The PNG file to write.

    Raises:
        ValueError: no curve.
        ImportError: matplotlib is missing.
    """
    if not curves:
        raise ValueError("nothing to draw: no curves")
    figure = new_figure(6.8, 3.6)
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
    for axes, title in ((weights, "softmax of s (%)"), (logits, "logit s")):
        axes.locator_params(axis="x", integer=True)
        axes.set_xlabel("position of the context word")
        axes.set_title(title, loc="left", fontweight="bold")
        remove_axes_box(axes)
    weights.set_ylim(bottom=0)
    handles, names = weights.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", frameon=False, fontsize=8)
    save_figure(figure, out)
