"""Texts as batches of words: their positions, softmax, mean and maximum over the words that there are, and losses."""

import math

import torch
from torch.nn import functional as F

from .ops_inputs import to_float32_or_wider, to_int64

IGNORED = -100  # label of a word that does not count, as everywhere in transformers
# A product of a multiple of so many rows rounds each row in the same way, whatever the others are: kernels for few
# rows, or for those left over, round otherwise.
ROWS_ALIKE = 16


def sinusoidal_positions(
    length: int, width: int, *, device: torch.device | None = None, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """Return the sinusoids (length, width) of the positions from 0 on; `width` is even.

    Column 2i holds the sine and column 2i + 1 the cosine of pos / 10000^(2i/width).
    """
    # Angles are taken in float64: at large positions float32 loses the fine end of the spectrum.
    frequencies = torch.exp(
        torch.arange(0, width, 2, dtype=torch.float64, device=device) * (-math.log(10000.0) / width)
    )
    angles = torch.arange(length, dtype=torch.float64, device=device).unsqueeze(1) * frequencies  # (length, width/2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).to(dtype)


def word_positions(mask: torch.Tensor, width: int, dtype: torch.dtype) -> torch.Tensor:
    """Return, for each word of a boolean mask (B, n), the sinusoids of its position among the words of its text.

    They are (B, n, width).
    """
    table = sinusoidal_positions(mask.size(1), width, device=mask.device, dtype=dtype)
    return table[(mask.cumsum(dim=1) - 1).clamp(min=0)]


def mask_logits(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return `logits` in float32 or wider, with the lowest finite value where `mask` (boolean, broadcastable) is False.

    The value is finite, not -inf, so that a row without any real position gives a uniform distribution instead of NaN.
    """
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    return logits.masked_fill(~mask, torch.finfo(logits.dtype).min)


def masked_softmax(logits: torch.Tensor, mask: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the softmax over `dim` among positions where `mask` is True; for rows that have one, 0 at the others."""
    return torch.softmax(mask_logits(logits, mask), dim=dim)


def masked_mean(x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean over the tokens of each text.

    Args:
        x: (B, n, d) tokens.
        mask: Boolean (B, n), True at real tokens.

    Returns:
        (B, d), 0 for a text without tokens; and the weight of each token, (B, n), 1 / (their number).
    """
    weights = mask.to(x.dtype) / mask.sum(dim=1, keepdim=True).clamp(min=1)
    return (weights.unsqueeze(1) @ x).squeeze(1), weights  # (B, 1, n) @ (B, n, d)


def masked_max(x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the maximum over the tokens of each text, for each feature by itself.

    Args:
        x: (B, n, d) tokens.
        mask: Boolean (B, n), True at real tokens.

    Returns:
        (B, d), 0 for a text without tokens; and the fraction of the features whose maximum each token gives, (B, n), 0
        for a text without tokens.
    """
    has_tokens = mask.any(dim=1, keepdim=True)
    if x.size(1) == 0:
        return x.new_zeros(x.size(0), x.size(2)), x.new_zeros(x.size(0), 0)
    values, indices = mask_logits(x, mask.unsqueeze(-1)).max(dim=1)  # (B, d) each
    part = torch.full_like(values, 1 / x.size(2))
    # Every feature gives 1 / d to the token that has its maximum.
    fractions = values.new_zeros(mask.shape).scatter_add(1, indices, part)
    return (values * has_tokens).to(x.dtype), fractions * has_tokens


def take_rows(table: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Return `table[rows]` for a table (R, ...) and row numbers of any shape; several times faster on a CPU."""
    return table.index_select(0, rows.flatten()).view(*rows.shape, *table.shape[1:])


def classification_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy in nats, the mean over the batch.

    Args:
        logits: (B, L) scores of L classes.
        labels: (B,) classes, 0 to L - 1.

    Raises:
        ValueError: labels of another shape or type, or outside the classes (read on the CPU only: on a device it would
            wait for the queue).
    """
    batch, classes = logits.shape
    labels = to_int64("labels", labels)
    if labels.shape != (batch,):
        raise ValueError(f"labels must have shape ({batch},), one for each document, got {tuple(labels.shape)}")
    if not (torch.compiler.is_compiling() or labels.is_cuda) and (labels.min() < 0 or labels.max() >= classes):
        raise ValueError(f"labels must lie in 0..{classes - 1}, got {labels.tolist()}")
    return F.cross_entropy(logits, labels)


def text_classification_loss(logits: torch.Tensor, labels: torch.Tensor, problem_type: str | None) -> torch.Tensor:
    """Return the loss of a classifier of texts in nats, the mean over the batch, by the `problem_type` of its config.

    Args:
        logits: (B, L) scores of L classes.
        labels: (B,) classes, 0 to L - 1; where a text may have several, (B, L) 0 and 1, whose binary cross-entropy is
            taken, the mean over texts and labels.
        problem_type: Type of the problem as transformers names it; None: one label for each text.

    Raises:
        ValueError: labels of another shape or type, or other values (read on the CPU only: on a device it would wait
            for the queue).
    """
    if problem_type != "multi_label_classification":
        return classification_loss(logits, labels)
    if labels.shape != logits.shape:
        raise ValueError(
            f"labels must have shape {tuple(logits.shape)}, 0 or 1 for each label of each text, got "
            f"{tuple(labels.shape)}"
        )
    if not (torch.compiler.is_compiling() or labels.is_cuda) and bool(((labels != 0) & (labels != 1)).any()):
        raise ValueError(
            f"labels must be 0 or 1 where a text may have several, got {torch.unique(labels).tolist()[:8]}"
        )
    return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))


def token_classification_loss(
    logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the cross-entropy in nats, the mean over the words of a batch that count; 0 where none does.

    Args:
        logits: (B, n, L) scores of L labels at each step.
        labels: (B, n) classes, 0 to L - 1, or `IGNORED`.
        mask: (B, n) mask, 0 at padding, whose labels are ignored; None: no padding.

    Raises:
        ValueError: labels of another shape or type, or other numbers (read on the CPU only: on a device it would wait
            for the queue).
    """
    classes = logits.size(2)
    labels = to_int64("labels", labels)
    if labels.shape != logits.shape[:2]:
        raise ValueError(
            f"labels must have shape {tuple(logits.shape[:2])}, one for each word, got {tuple(labels.shape)}"
        )
    if mask is not None:
        labels = labels.masked_fill(mask == 0, IGNORED)
    counts = labels != IGNORED
    if not (torch.compiler.is_compiling() or labels.is_cuda):
        odd = labels[counts & ((labels < 0) | (labels >= classes))]
        if odd.numel():
            raise ValueError(f"labels must lie in 0..{classes - 1}, or be {IGNORED}; got {odd[0].item()}")
    wide = to_float32_or_wider(logits.flatten(0, 1))  # the sum of many overflows halves
    summed = F.cross_entropy(wide, labels.flatten(), ignore_index=IGNORED, reduction="sum")
    return summed / counts.sum().clamp(min=1)


def next_word_loss(logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean cross-entropy in nats of the next position's word, and the number of such words.

    Args:
        logits: (B, n, V) scores of V words at each position.
        labels: (B, n) ids of the words at each position, or `IGNORED`.
        mask: Boolean (B, n), True at real positions.

    Returns:
        Two scalars: 0 where nothing is predicted, and 1 at least.

    Raises:
        ValueError: see `token_classification_loss`.
    """
    # What `roll` brings to the last position is the first label; that position has no next, so it never counts.
    has_next = F.pad(mask[:, 1:], (0, 1)) if mask.size(1) else mask
    following = labels.roll(-1, dims=-1)
    loss = token_classification_loss(logits, following, has_next)
    return loss, (has_next & (following != IGNORED)).sum().clamp(min=1)
