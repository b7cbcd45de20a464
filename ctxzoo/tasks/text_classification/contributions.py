"""What each word of a text adds to the logit of each label of a classifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel

from ctxzoo.metrics.label_threshold import get_label_threshold
from ctxzoo.models.configuration_base import SEVERAL_LABELS
from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.models.tokenization_word import WordTokenizer
from ctxzoo.tasks.text_classification.explanation import Array, Explanation

# Points of the integral from empty vectors to those of the words; benchmarks/explanations.py says what it misses.
POINTS = 16
MOST_POSITIONS = 8192  # ids that are read at once; memory grows with them


def explain_text(model: PreTrainedModel, tokenizer: WordTokenizer, text: str) -> Explanation:
    """Classify a text, and tell what each word adds to the logit of each label.

    The linear part of a model (its `wide` part) adds a number for each word and n-gram, which is taken as it is. What
    the network adds is the integral of its gradient from empty word vectors to those of the text (integrated gradients;
    Sundararajan, Taly and Yan 2017): 16 points, so 19 forward passes in all, whatever the length of the text.

    Args:
        model: Text classifier that reads words, in evaluation mode.
        tokenizer: Tokenizer that the model was trained with; it truncates the text at its `model_max_length` if it has
            one.
        text: Text to classify and explain.

    Raises:
        ValueError: a text without letters; a model that is no classifier of texts, or in training mode.
    """
    if not text.strip():
        raise ValueError(f"text is {text!r}; expected a text")
    if getattr(model, "zoo_task", None) != "text-classification":
        raise ValueError(f"a {type(model).__name__} gives a text no label; expected a classifier of texts")
    if model.training:
        raise ValueError("the model is in training mode, in which dropout changes its answers; call model.eval() first")

    encoded = tokenizer([text], truncation=True, return_overflowing_tokens=True)
    offsets, spans = tokenizer.map_ids_to_words(text)
    inputs = {name: encoded[name] for name in tokenizer.model_input_names}
    # Models need one position at least; without a word it is padding.
    length = max(1, len(spans))
    tensors = tokenizer.pad(inputs, padding="max_length", max_length=length, return_tensors="pt", verbose=False)
    tensors = tensors.to(model.device)
    with torch.no_grad():
        logits = model(**tensors).logits[0].cpu().double()
        linear, linear_bias = _compute_linear_contributions(model, tensors, num_labels=len(logits))
    network, without_words = _integrate_gradients(model, tensors)
    linear, network = (_sum_by_word(values, spans, len(offsets)) for values in (linear, network))

    several = model.config.problem_type == SEVERAL_LABELS
    threshold = get_label_threshold(model.config) if several else None
    is_known = np.zeros(len(offsets), dtype=bool)
    known_words = [
        span[0] for index, span in zip(encoded["input_ids"][0], spans, strict=True) if index < len(tokenizer)
    ]
    is_known[known_words] = True
    return Explanation(
        text=text,
        probabilities={
            model.config.id2label[label]: probability
            for label, probability in enumerate((logits.sigmoid() if several else logits.softmax(-1)).tolist())
        },
        threshold=threshold,
        logits=logits.numpy(),
        offsets=offsets,
        is_known=is_known,
        contributions=linear + network,
        bias=without_words - linear.sum(axis=1),
        linear=linear,
        linear_bias=linear_bias,
        attention=_compute_word_attention(model, tensors, known_words, len(offsets)),
        row_name=_name_attention_rows(model.config),
        num_ngrams=len(spans) - len(known_words),
        num_cut_off=encoded["num_truncated_tokens"][0],
    )


def _compute_linear_contributions(model: Any, inputs: Any, num_labels: int) -> tuple[Array, Array]:
    """Return what each position adds to the logits through the linear part, (labels, n), and its bias (labels,)."""
    wide = getattr(model, "wide", None)
    if wide is None:
        return np.zeros((num_labels, inputs["input_ids"].size(1))), np.zeros(num_labels)
    words = None if wide.vector_weight is None else model.get_input_embeddings()
    added = wide.position_contributions(inputs["input_ids"], inputs["attention_mask"].bool(), words)[0]
    return added.T.cpu().double().numpy(), wide.bias.cpu().double().numpy()


def _integrate_gradients(model: Any, inputs: Any) -> tuple[Array, Array]:
    """Return what each position adds to the logits through its word vector, and the logits without vectors.

    The words' vectors x enter as a x, for a = 0 and for the points a of Gauss-Legendre quadrature on [0, 1]. The linear
    part reads ids and has no gradient here. (labels, n) and (labels,).
    """
    points, point_weights = np.polynomial.legendre.leggauss(POINTS)
    factors = torch.tensor([0.0, *(points + 1) / 2], device=model.device)
    weights = torch.tensor([0.0, *point_weights / 2], dtype=torch.float64)
    length = inputs["input_ids"].size(1)
    at_once = max(1, MOST_POSITIONS // length)
    total, without_words = None, None
    # cuDNN has no gradients of recurrent layers in evaluation mode.
    with torch.inference_mode(False), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        for first in range(0, len(factors), at_once):
            some, their_weights = (values[first : first + at_once] for values in (factors, weights))
            rows = {name: value.expand(len(some), *value.shape[1:]) for name, value in inputs.items()}
            with _scale_word_vectors(model, some) as entered:
                logits = model(**rows).logits
            ((vectors, scaled),) = entered
            of_labels = []
            for logit in logits.sum(dim=0):
                (gradient,) = torch.autograd.grad(logit, scaled, retain_graph=True, materialize_grads=True)
                mean = torch.einsum("p,pnd->nd", their_weights, gradient.cpu().double())  # p points, n ids
                of_labels.append((mean * vectors[0].cpu()).sum(dim=-1))
            added = torch.stack(of_labels)
            total = added if total is None else total + added
            without_words = logits[0].detach() if without_words is None else without_words
    assert total is not None
    assert without_words is not None
    # The network of a model with a linear part reads the words alone, so positions of n-grams may be missing.
    of_positions = np.zeros((len(total), length))
    of_positions[:, : total.size(1)] = total.numpy()
    return of_positions, without_words.cpu().double().numpy()


@contextmanager
def _scale_word_vectors(model: Any, factors: torch.Tensor) -> Iterator[list[tuple[torch.Tensor, torch.Tensor]]]:
    """Let the word vectors of row i enter `factors[i]` times; yield a list of the vectors, as they are and scaled."""
    entered: list[tuple[torch.Tensor, torch.Tensor]] = []

    def scale_and_record(_module: Any, _inputs: Any, vectors: torch.Tensor) -> torch.Tensor:
        vectors = vectors.detach()
        scaled = (vectors * factors.to(vectors.dtype)[:, None, None]).requires_grad_()
        entered.append((vectors, scaled))
        return scaled

    try:
        hook = model.get_input_embeddings().register_forward_hook(scale_and_record)
    except NotImplementedError:
        raise ValueError(
            f"a {type(model).__name__} does not say which table its word vectors are of; give it get_input_embeddings()"
        ) from None
    try:
        yield entered
    finally:
        hook.remove()


def _sum_by_word(values: Array, spans: Sequence[tuple[int, int]], num_words: int) -> Array:
    """Return (labels, words) from (labels, n): an id of several words is shared out evenly among them."""
    sums = np.zeros((len(values), num_words))
    for position, (first, end) in enumerate(spans):
        sums[:, first:end] += values[:, position, None] / (end - first)
    return sums


def _compute_word_attention(model: Any, inputs: Any, known_words: Sequence[int], num_words: int) -> Array | None:
    """Return (rows, words): known words come first among the ids, and only ids are attended to."""
    if not hasattr(model, "token_weights"):
        return None
    with torch.no_grad():
        weights = model.token_weights(**inputs)[0, :, : len(known_words)].cpu().double().numpy()
    attention = np.zeros((len(weights), num_words))
    attention[:, known_words] = weights
    return attention


def _name_attention_rows(config: Any) -> str:
    in_steps = config.model_type == ContextualizerConfig.model_type or getattr(config, "encoder", None) == "attention"
    return "step" if in_steps else "head"
