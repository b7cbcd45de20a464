"""Functions of word embeddings: the words around each word, their weighted sum (Ling et al. 2015), and their loss."""

from typing import Any

import torch
from torch.nn import functional as F

from .ops_inputs import to_float32_or_wider
from .ops_words import masked_softmax


def window_offsets(window: int, device: torch.device | None = None) -> torch.Tensor:
    """Return the position of each column of a window, -b to -1 and 1 to b: (2b,)."""
    before = torch.arange(-window, 0, device=device)
    return torch.cat([before, -before.flip(0)])  # -b, ..., -1, 1, ..., b


def gather_word_windows(ids: torch.Tensor, is_word: torch.Tensor, window: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the words at the 2b positions around every word.

    Args:
        ids: (B, n) ids of words.
        is_word: Boolean (B, n), False at padding and at other positions that are context of no word.
        window: Half width b of the window.

    Returns:
        contexts (B, n, 2b): ids in the columns of positions -b to -1 and 1 to b, 0 where there is no word; present,
        boolean (B, n, 2b): where there is one.
    """
    # (n, 2b), moved by b, since b zeros stand before the first word.
    indices = torch.arange(ids.size(1), device=ids.device).unsqueeze(1) + window_offsets(window, ids.device) + window
    padded = F.pad(ids.masked_fill(~is_word, 0), (window, window))
    present = F.pad(is_word, (window, window))
    return padded[:, indices], present[:, indices]


def attention_weights(logits: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    """Return a, the softmax of the logits of a window over the words that are there; all 0 where there are none.

    Args:
        logits: (..., 2b) attention logits e of the context words.
        present: Boolean (..., 2b), False where there is no context word.

    Returns:
        a (..., 2b).
    """
    # The softmax of a window without words is uniform; the product makes it 0.
    return masked_softmax(logits, present, dim=-1) * present


def uniform_weights(present: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return 1 / |J| for each word that is there, |J| being their number; present is boolean, (..., 2b)."""
    return present.to(dtype) / present.sum(dim=-1, keepdim=True).clamp(min=1)


def compute_weighted_context(weights: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """Return contexts c = sum of a_i W[w_i] (2), (..., d), from weights (..., 2b) and words (..., 2b, d)."""
    return (weights.to(words.dtype).unsqueeze(-2) @ words).squeeze(-2)  # (..., 1, 2b) @ (..., 2b, d)


def mean_with_word2vec_gradient(context: torch.Tensor, words: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    """Return the mean of word vectors, whose backward pass gives each word the whole gradient, as word2vec does.

    The exact gradient for each of |J| words is 1 / |J| of the context's; these programs leave the division out in the
    backward pass alone (Irsoy et al. 2021).

    Args:
        context: (..., d) mean of the context words.
        words: (..., 2b, d) vectors of the context words.
        present: Boolean (..., 2b), False where there is no context word.

    Returns:
        (..., d).
    """
    total = (words * present.unsqueeze(-1)).sum(dim=-2)
    return context.detach() + (total - total.detach())  # the difference is 0 and has the gradient of the sum


def gather_table_rows(table: torch.Tensor, *indices: torch.Tensor, sparse: bool = False) -> torch.Tensor:
    """Return `table[indices]`; with `sparse` the gradient of `table` is a sparse COO tensor.

    torch's own look-up has sparse gradients for rows of a matrix alone; here a row may be given by several indices.

    Args:
        table: Table with k index dimensions in front, (N_1, ..., N_k, ...).
        indices: Indices into the first k dimensions, k integer tensors whose shapes broadcast.
        sparse: Whether the gradient is sparse, so that optimizers touch only rows that were read; they must support
            sparse gradients, as SGD without momentum, Adagrad and SparseAdam do.

    Returns:
        The rows, whose shape is that of the indices, followed by that of a row of the table.
    """
    if not sparse:
        return table[indices]
    rows: torch.Tensor = _SparseRows.apply(table, *torch.broadcast_tensors(*indices))  # type: ignore[no-untyped-call]
    return rows


class _SparseRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: torch.Tensor, *indices: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(*indices)
        ctx.shape = table.shape
        return table[indices]

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Return a sparse gradient of the table, with only the rows that were read."""
        indices = torch.stack([index.flatten() for index in ctx.saved_tensors])  # (k, rows that were read)
        values = gradients[0].reshape(indices.size(1), *ctx.shape[len(indices) :])
        # The indices come from a look-up that has worked.
        gradient = torch.sparse_coo_tensor(indices, values, ctx.shape, check_invariants=False)
        return gradient, *[None] * len(indices)


def negative_sampling_loss(states: torch.Tensor, rows: torch.Tensor, is_kept: torch.Tensor) -> torch.Tensor:
    """Return -log sigma(O[t].c) - sum over the kept noise words of log sigma(-O[n].c), in nats.

    Args:
        states: (..., M, F) contexts c, M of them with the same rows.
        rows: (..., 1 + S, F) output vectors: O[t] of the centre, then O[n] of the S noise words.
        is_kept: Boolean (..., S), False at noise words that do not count.

    Returns:
        (..., M), in float32 at least, also under mixed precision.
    """
    scores = states @ rows.transpose(-1, -2)  # (..., M, 1 + S)
    scores = to_float32_or_wider(scores)
    noise = F.logsigmoid(-scores[..., 1:]) * is_kept.unsqueeze(-2)
    return -F.logsigmoid(scores[..., 0]) - noise.sum(dim=-1)
