"""Word embeddings position by position and word by word, in float64: the equations of Ling et al. 2015 written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

Parameters = dict[str, torch.Tensor]


def parameters_of(model: Any) -> Parameters:
    """Return W, O, K, s and d of a `WordEmbeddingForMaskedLM`, those that it has."""
    base = model.word_embedding
    found = {"W": base.word_vectors.weight, "O": model.output_vectors}
    if base.word_position_logits is not None:
        found["K"] = base.word_position_logits.weight
    if base.word_factors is not None:
        found["K"] = base.word_factors.weight @ base.position_factors
    if base.position_logits is not None:
        found["s"] = base.position_logits
    if base.position_vectors is not None:
        found["d"] = base.position_vectors
    return {name: x.detach().double() for name, x in found.items()}


def surroundings(sentence: Sequence[int], index: int, window: int, special: int) -> list[tuple[int, int]]:
    """Return (column, word) of the words around an index of the sentence."""
    found = []
    for position in (*range(-window, 0), *range(1, window + 1)):
        other = index + position
        if 0 <= other < len(sentence) and sentence[other] >= special:
            found.append((position + window if position < 0 else position + window - 1, sentence[other]))
    return found


def weights_of_words(around: list[tuple[int, int]], p: Parameters) -> list[float]:
    """Return a, the weights of the words in the order of `around`."""
    logits = [0.0] * len(around)
    for index, (column, word) in enumerate(around):
        if "K" in p:
            logits[index] += float(p["K"][word, column])
        if "s" in p:
            logits[index] += float(p["s"][column])
    exponentials = [float(torch.tensor(logit, dtype=torch.float64).exp()) for logit in logits]
    return [value / sum(exponentials) for value in exponentials]


def scores_of_each(
    around: list[tuple[int, int]], architecture: str, p: Parameters, targets: Sequence[int]
) -> list[list[float]]:
    """Scores of the targets: one list from the whole context, or from each word where each predicts by itself."""
    W, O = p["W"], p["O"]  # noqa: E741
    d = W.size(1)
    if architecture == "skip_gram":
        return [[float(O[target] @ W[word]) for target in targets] for _, word in around]
    if architecture == "structured_skip_gram":
        return [[float(O[column, target] @ W[word]) for target in targets] for column, word in around]
    c = torch.zeros(O.size(1), dtype=torch.float64)
    for (column, word), weight in zip(around, weights_of_words(around, p), strict=True):
        if architecture == "cwindow":
            c[column * d : (column + 1) * d] = W[word]
        else:
            c += weight * (W[word] * p["d"][column] if "d" in p else W[word])
    return [[float(O[target] @ c) for target in targets]]


def reference_logits(model: Any, sentence: Sequence[int]) -> torch.Tensor:
    """Return (n, words) the scores of every word that is no special token."""
    config, p = model.config, parameters_of(model)
    words = range(config.num_special_tokens, config.vocab_size)
    rows = []
    for index in range(len(sentence)):
        around = surroundings(sentence, index, config.window, config.num_special_tokens)
        scores = scores_of_each(around, config.architecture, p, words) or [[0.0] * len(words)]
        rows.append(torch.tensor(scores, dtype=torch.float64).mean(dim=0))
    return torch.stack(rows)


def reference_loss(model: Any, sentence: Sequence[int], index: int, label: int) -> float:
    """-log p(label), of each word the mean where each predicts by itself."""
    config, p = model.config, parameters_of(model)
    words = range(config.num_special_tokens, config.vocab_size)
    around = surroundings(sentence, index, config.window, config.num_special_tokens)
    losses = []
    for scores in scores_of_each(around, config.architecture, p, words) or [[0.0] * len(words)]:
        exponentials = torch.tensor(scores, dtype=torch.float64).exp()
        losses.append(-float((exponentials[label - words[0]] / exponentials.sum()).log()))
    return sum(losses) / len(losses)


def reference_sampled_loss(
    model: Any, around: list[tuple[int, int]], centre: int, noise: dict[int, list[int]]
) -> float:
    """The loss of negative sampling; `noise` holds the kept words of each column, alike where they are shared."""
    architecture, p = model.config.architecture, parameters_of(model)
    each = architecture in ("skip_gram", "structured_skip_gram")
    total = torch.zeros((), dtype=torch.float64)
    for part in [[one] for one in around] if each else [around]:
        targets = [centre, *noise[part[0][0] if part else 0]]
        [scores] = scores_of_each(part, architecture, p, targets)
        signed = torch.tensor([scores[0], *(-score for score in scores[1:])], dtype=torch.float64)
        total = total - signed.sigmoid().log().sum()
    return float(total)


def reference_word_windows(ids: torch.Tensor, is_word: torch.Tensor, window: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute what `gather_word_windows` gives, word by word."""
    batch, length = ids.shape
    contexts = torch.zeros(batch, length, 2 * window, dtype=ids.dtype)
    present = torch.zeros(batch, length, 2 * window, dtype=torch.bool)
    for row in range(batch):
        for centre in range(length):
            for position in range(-window, window + 1):
                other = centre + position
                if position == 0 or not 0 <= other < length or not is_word[row, other]:
                    continue
                column = position + window if position < 0 else position + window - 1
                contexts[row, centre, column] = ids[row, other]
                present[row, centre, column] = True
    return contexts, present


def reference_context(
    logits: torch.Tensor, words: torch.Tensor, present: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute contexts (N, d) and weights (N, 2b) in float64, window by window.

    The logits are (N, 2b), the words (N, 2b, d); present is boolean, (N, 2b).
    """
    contexts = torch.zeros(len(words), words.size(2), dtype=torch.float64)
    weights = torch.zeros(logits.shape, dtype=torch.float64)
    for row in range(len(words)):
        here = [column for column in range(logits.size(1)) if present[row, column]]
        total = sum(float(logits[row, column].double().exp()) for column in here)
        for column in here:
            weights[row, column] = logits[row, column].double().exp() / total
            contexts[row] += weights[row, column] * words[row, column].double()
    return contexts, weights


def reference_negative_sampling_loss(state: torch.Tensor, rows: torch.Tensor, kept: torch.Tensor) -> float:
    """Compute `negative_sampling_loss` in float64 for one context: state (F,), rows (1 + S, F), kept (S,)."""
    scores = [float(row.double() @ state.double()) for row in rows]
    loss = -torch.tensor(scores[0], dtype=torch.float64).sigmoid().log()
    for score, counts in zip(scores[1:], kept.tolist(), strict=True):
        if counts:
            loss = loss - torch.tensor(-score, dtype=torch.float64).sigmoid().log()
    return float(loss)
