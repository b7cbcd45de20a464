"""Answers from the outputs of an extractive reader: one decoding rule for training, evaluation and the pipeline.

The best span is sought over a band of `max_length` diagonals instead of all (C, C) pairs.
"""

from typing import NamedTuple, Protocol

import torch

from .ops_inputs import to_boolean_mask, to_float32_or_wider


class SpanLogits(Protocol):
    """What the output of an extractive reader holds; position 0 of the context stands for "no answer".

    Attributes:
        start_logits, end_logits: (B, C) scores of the first and last word of the answer; the lowest finite value at
            padding.
    """

    start_logits: torch.Tensor | None
    end_logits: torch.Tensor | None


class AnswerSpans(NamedTuple):
    """The best span of each row beside the probability that there is none.

    Attributes:
        starts, ends: (B,) positions of the first and last word in the context, where position 0 is the extra token; (0,
            0) where the row has no word.
        span_log_probs: (B,) log-probability of the span; -inf where the row has no word.
        no_answer_log_probs: (B,) log-probability of "no answer"; without meaning for SQuAD 1.1.
    """

    starts: torch.Tensor
    ends: torch.Tensor
    span_log_probs: torch.Tensor
    no_answer_log_probs: torch.Tensor


def span_log_probabilities(
    outputs: SpanLogits,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return log-probabilities of starts and ends, such that start[i] + end[j] is that of the span (i, j).

    They are a log-softmax over positions, and "no answer" is the span (0, 0), p_0 p'_0.

    Args:
        outputs: start_logits and end_logits (B, C), the lowest finite value at padding.

    Returns:
        start (B, C), end (B, C), no answer (B,), in float32 or wider.

    Raises:
        ValueError: start_logits or end_logits are missing.
    """
    if outputs.start_logits is None or outputs.end_logits is None:
        raise ValueError("outputs hold no start_logits and end_logits; they come from a question-answering model")
    start = to_float32_or_wider(outputs.start_logits).log_softmax(dim=1)
    end = to_float32_or_wider(outputs.end_logits).log_softmax(dim=1)
    return start, end, start[:, 0] + end[:, 0]


def decode_answers(outputs: SpanLogits, attention_mask: torch.Tensor, max_length: int) -> AnswerSpans:
    """Return the most probable span 1 <= i <= j <= i + max_length - 1 of each row.

    Of equally probable spans it is the first, then the shortest. The rule of SQuAD 2.0 is then: no answer where
    `no_answer_log_probs > span_log_probs`.

    Args:
        outputs: Model output for a batch, see `span_log_probabilities`.
        attention_mask: (B, C) mask, 1 at real words, 0 elsewhere.
        max_length: Longest answer, in words.

    Raises:
        ValueError: the mask's shape differs from the logits', it holds other numbers, or max_length is below 1.
    """
    start, end, no_answer = span_log_probabilities(outputs)
    if attention_mask.shape != start.shape:
        raise ValueError(
            f"mask of shape {tuple(attention_mask.shape)} does not fit logits of shape {tuple(start.shape)}"
        )
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1 word, got {max_length}")
    starts, ends, scores = best_spans(start, end, to_boolean_mask(attention_mask), max_length)
    return AnswerSpans(starts, ends, scores, no_answer)


def no_answer_score(spans: AnswerSpans) -> torch.Tensor:
    """Return p_na / (p_na + p_span), (B,), in 0..1: above a half "no answer" is more probable than the best span."""
    # p / (p + q) = sigmoid(ln p - ln q): neither probability is formed, and both may be below the least float.
    return torch.sigmoid(spans.no_answer_log_probs - spans.span_log_probs)


def span_scores(
    start_scores: torch.Tensor, end_scores: torch.Tensor, mask: torch.Tensor, max_length: int
) -> torch.Tensor:
    """Return the score of each span, start_scores[i] + end_scores[i + k] at [i, k].

    Position 0 (no answer) is never part of a span.

    Args:
        start_scores, end_scores: (B, C) log-probabilities or logits of the first and last word.
        mask: Boolean (B, C), True at real positions.
        max_length: Longest span in words.

    Returns:
        (B, C, max_length), -inf for spans that leave `mask` or hold position 0.
    """
    length = start_scores.size(1)
    allowed = mask.clone()
    allowed[:, 0] = False
    low = float("-inf")
    starts = start_scores.masked_fill(~allowed, low)
    ends = end_scores.masked_fill(~allowed, low)
    # Ends past the text are -inf. `offsets` holds i + k, (C, max_length).
    padded = torch.nn.functional.pad(ends, (0, max_length - 1), value=low)
    offsets = torch.arange(length, device=ends.device).unsqueeze(1) + torch.arange(max_length, device=ends.device)
    return starts.unsqueeze(2) + padded[:, offsets]  # (B, C, max_length)


def best_spans(
    start_scores: torch.Tensor, end_scores: torch.Tensor, mask: torch.Tensor, max_length: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the span 1 <= i <= j <= i + max_length - 1 with the greatest score of each row.

    Of equal scores the smallest i wins, then the smallest j.

    Returns:
        starts (B,), ends (B,), scores (B,). A row with no real position after 0 gives (0, 0, -inf), a row in which a
        span's score is NaN (0, 0, nan).
    """
    band = span_scores(start_scores, end_scores, mask, max_length).flatten(1)  # (B, C * max_length)
    best = band.amax(dim=1)
    indices = torch.arange(band.size(1), device=band.device)
    # argmax does not promise the first of equal values, so the smallest index is taken.
    flat = torch.where(band == best.unsqueeze(1), indices, band.size(1)).amin(dim=1)
    # The flat index is i * max_length + k, and the end is i + k.
    starts = torch.div(flat, max_length, rounding_mode="floor")
    ends = starts + flat % max_length
    none = torch.isneginf(best) | torch.isnan(best)  # amax passes NaN on, and NaN equals nothing
    return starts.masked_fill(none, 0), ends.masked_fill(none, 0), best
