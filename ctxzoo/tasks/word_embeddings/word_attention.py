"""What attention CBOW has learned to look at: the words around a word, and the positions.

Ling et al., "Not All Contexts Are Created Equal" (EMNLP 2015), equation (3) and Figure 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ctxzoo.models.modeling_word_embedding import WordEmbeddingPreTrainedModel
from ctxzoo.models.tokenization_word import WordTokenizer


@dataclass(frozen=True, eq=False)
class WordAttention:
    """A sentence, and how much each word counts when another is predicted.

    Attributes:
        words: n words, as the tokenizer has them; unknown ones are left out.
        weights: (n, n), a: row t holds the weights of the words around word t, which sum to 1.
        is_context: boolean (n, n), whether a word is in the window of another; no word is in its own.
    """

    words: list[str]
    weights: NDArray[np.float64]
    is_context: NDArray[np.bool_]

    def positions_of(self, words: Sequence[str]) -> list[int]:
        """Return every position that holds one of some words, in the order of the words.

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
        positions: -b to -1 and 1 to b.
        logits: (2b,), s. A constant more changes no weight; training leaves their mean at 0.
        weights: (2b,), the softmax of s: the weights of words without logits of their own.
    """

    positions: list[int]
    logits: NDArray[np.float64]
    weights: NDArray[np.float64]


def word_attention(model: WordEmbeddingPreTrainedModel, tokenizer: WordTokenizer, text: str) -> WordAttention:
    """Return the weights (3) of all words of a sentence; even weights for models without attention.

    Args:
        model: the base model or a head.
        tokenizer: its tokenizer.
        text: one sentence.

    Raises:
        ValueError: fewer than two words of the text are known.
    """
    ids: Any = tokenizer(text, return_tensors="pt")["input_ids"]
    number = ids.size(1)
    if number < 2:
        raise ValueError(f"the checkpoint knows {number} words of {text!r}; expected at least 2")
    base = model.base_model
    with torch.inference_mode():
        found = base(ids, output_attentions=True).attentions[0][0]  # (n, 2b)
        present = base.windows(ids)[1][0]
    weights = np.zeros((number, number))
    is_context = np.zeros((number, number), dtype=bool)
    for column, position in enumerate(_positions(model)):
        centres = np.arange(max(0, -position), number - max(0, position))
        weights[centres, centres + position] = found[centres, column].double().numpy()
        is_context[centres, centres + position] = present[centres, column].numpy()
    return WordAttention(tokenizer.convert_ids_to_tokens(ids[0].tolist()), weights, is_context)


def position_curve(model: WordEmbeddingPreTrainedModel) -> PositionCurve:
    """Return s of a model, the base or with a head.

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
    return PositionCurve(_positions(model), values.numpy(), values.softmax(dim=0).numpy())


def _positions(model: WordEmbeddingPreTrainedModel) -> list[int]:
    """Return the position of each column."""
    window = model.config.window
    return [*range(-window, 0), *range(1, window + 1)]
