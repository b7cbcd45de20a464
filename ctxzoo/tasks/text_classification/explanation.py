"""How much each word of a text counts for the label that a classifier gives it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel

from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.models.tokenization_word import WordTokenizer


@dataclass(frozen=True)
class Explanation:
    """A text as a classifier reads it.

    Attributes:
        text: as given.
        probabilities: of every label, by name, in the model's order.
        offsets: first character and the one after the last of each word that was read, from left to right.
        weights: (rows, words): how much each of these words counts for each head or step.
        row_name: what a row is: "head" or "step".
        num_ngrams: hashed n-grams that were read too; they have no position in the text.
        ngram_weight: how much all of them together count, the mean over the rows; 0 where the attention does not see
            n-grams and they decide in another way.
        has_other_ways: whether words, or n-grams, also decide in a way that the weights do not show.
        num_cut_off: known words behind the tokenizer's limit, which were not read.
    """

    text: str
    probabilities: dict[str, float]
    offsets: list[tuple[int, int]]
    weights: NDArray[np.float64]
    row_name: str
    num_ngrams: int = 0
    ngram_weight: float = 0.0
    has_other_ways: bool = False
    num_cut_off: int = 0

    @property
    def label(self) -> str:
        """The most probable label."""
        return max(self.probabilities, key=self.probabilities.__getitem__)

    @property
    def score(self) -> float:
        """The probability of the most probable label."""
        return self.probabilities[self.label]

    @property
    def uniform_weight(self) -> float:
        """The weight of each word if all that is weighed counted alike."""
        weighed = len(self.offsets) + (self.num_ngrams if self.ngram_weight > 0 else 0)
        return 1 / max(1, weighed)

    @property
    def words(self) -> list[str]:
        """The words that were read, as they are written, from left to right."""
        return [self.text[begin:end] for begin, end in self.offsets]

    def mean_weights(self) -> NDArray[np.float64]:
        """The weights (words,), each the mean over the rows."""
        mean: NDArray[np.float64] = self.weights.mean(axis=0)
        return mean

    def pieces(self) -> Iterator[tuple[str, int | None]]:
        """Return the whole text in pieces, each with its number among the words, or None for what was not read."""
        end = 0
        for word, (begin, stop) in enumerate(self.offsets):
            if begin > end:
                yield self.text[end:begin], None
            yield self.text[begin:stop], word
            end = stop
        if end < len(self.text):
            yield self.text[end:], None

    def top_words(self, weights: NDArray[np.float64] | None = None, count: int = 5) -> list[tuple[str, float]]:
        """Return the words of the greatest of the (words,) weights, default their means, each once, in lower case."""
        weights = self.mean_weights() if weights is None else weights
        found: dict[str, float] = {}
        for word in np.argsort(-weights, kind="stable"):
            begin, end = self.offsets[word]
            found.setdefault(self.text[begin:end].lower(), float(weights[word]))
            if len(found) == count:
                break
        return list(found.items())

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the text, its words highlighted by their weights."""
        from ctxzoo.tasks.text_classification.explanation_page import explanation_html  # it imports this file

        return explanation_html([self])


def explain_text(model: PreTrainedModel, tokenizer: WordTokenizer, text: str) -> Explanation:
    """Classify a text and read what the model attended to.

    Args:
        model: a text classifier with `token_weights`, in evaluation mode.
        tokenizer: the model's. Where it has a `model_max_length`, the text is cut there.
        text: any text; words that the tokenizer does not know are not read.

    Raises:
        ValueError: a text without letters, a model without `token_weights`, or one in training mode.
    """
    if not text.strip():
        raise ValueError(f"text is {text!r}; expected a text")
    token_weights: Any = getattr(model, "token_weights", None)
    if token_weights is None:
        raise ValueError(
            f"a {type(model).__name__} cannot say how much each word counts (it has no token_weights); "
            "take a classifier with attention, for example one of LAMA"
        )
    if model.training:
        raise ValueError("the model is in training mode, in which dropout changes its answers; call model.eval() first")

    encoded = tokenizer([text], truncation=True, return_offsets_mapping=True, return_overflowing_tokens=True)
    spans = encoded["offset_mapping"][0]
    offsets = [(begin, end) for begin, end in spans if end > begin]  # n-grams come after the words, at (0, 0)
    inputs = {"input_ids": encoded["input_ids"], "attention_mask": encoded["attention_mask"]}
    # Models need one position at least; without a word it is padding.
    tensors = tokenizer.pad(
        inputs, padding="max_length", max_length=max(1, len(spans)), return_tensors="pt", verbose=False
    )
    tensors = tensors.to(model.device)
    with torch.inference_mode():
        probabilities = model(**tensors).logits[0].double().softmax(dim=-1).tolist()
        weights = token_weights(**tensors)[0, :, : len(spans)].double().cpu().numpy()
    return Explanation(
        text=text,
        probabilities={model.config.id2label[label]: probability for label, probability in enumerate(probabilities)},
        offsets=offsets,
        weights=weights[:, : len(offsets)],
        row_name=_row_name(model.config),
        num_ngrams=len(spans) - len(offsets),
        ngram_weight=float(weights[:, len(offsets) :].sum(axis=1).mean()),
        has_other_ways=getattr(model.config, "decides_beyond_attention", False),
        num_cut_off=encoded["num_truncated_tokens"][0],
    )


def intensities(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (words,) from 0 for the least weight to 1 for the greatest; 0 throughout where all are the same."""
    if not weights.size:
        return weights
    least, most = weights.min(), weights.max()
    # Differences that are nothing but rounding of single precision would else look like an opinion.
    if most - least <= 1e-6 * most:
        return np.zeros_like(weights)
    scaled: NDArray[np.float64] = (weights - least) / (most - least)
    return scaled


def percent(fraction: float) -> str:
    """Write a small fraction with three digits: 0.0123 -> "1.23%"."""
    if 0 < fraction < 1e-5:
        return "<0.001%"
    return f"{100 * fraction:#.3g}".rstrip(".") + "%" if fraction else "0%"


def _row_name(config: Any) -> str:
    in_steps = config.model_type == ContextualizerConfig.model_type or getattr(config, "encoder", None) == "attention"
    return "step" if in_steps else "head"
