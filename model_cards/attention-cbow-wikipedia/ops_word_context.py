"""The words around a centre, weighed and summed up: equation (2) of Ling et al. 2015."""

import torch

from .ops_masking import masked_softmax


def attention_weights(logits: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    """a: softmax of the logits of a window over the words that are there; all 0 where there are none.

    Args:
        logits: (..., 2b), e.
        present: boolean (..., 2b).
    """
    return masked_softmax(logits, present, dim=-1) * present


def even_weights(present: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """1 / |J| for each word that is there, |J| being their number; present: boolean (..., 2b)."""
    return present.to(dtype) / present.sum(dim=-1, keepdim=True).clamp(min=1)


def weighted_context(weights: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """c = sum of a_i W[w_i] (2); weights (..., 2b) and words (..., 2b, d) give (..., d)."""
    return (weights.to(words.dtype).unsqueeze(-2) @ words).squeeze(-2)


def with_word2vec_gradient(context: torch.Tensor, words: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    """The mean of the words, whose gradient word2vec, wang2vec and gensim give to every word whole.

    The exact gradient for each of |J| words is 1 / |J| of the context's; these programs leave the division out in the
    backward pass alone (Irsoy et al. 2021).

    Args:
        context: (..., d), the mean.
        words: (..., 2b, d).
        present: boolean (..., 2b).
    """
    total = (words * present.unsqueeze(-1)).sum(dim=-2)
    return context.detach() + (total - total.detach())  # the difference is 0, its gradient that of the sum


def reference_context(
    logits: torch.Tensor, words: torch.Tensor, present: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Contexts (N, d) and weights (N, 2b) in float64, window by window: logits (N, 2b), words (N, 2b, d)."""
    contexts = torch.zeros(len(words), words.size(2), dtype=torch.float64)
    weights = torch.zeros(logits.shape, dtype=torch.float64)
    for row in range(len(words)):
        here = [column for column in range(logits.size(1)) if present[row, column]]
        total = sum(float(logits[row, column].double().exp()) for column in here)
        for column in here:
            weights[row, column] = logits[row, column].double().exp() / total
            contexts[row] += weights[row, column] * words[row, column].double()
    return contexts, weights
