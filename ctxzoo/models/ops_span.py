"""Best answer spans from start and end scores, over a band of `max_length` diagonals instead of all (C, C) pairs."""

import torch


def span_scores(
    start_scores: torch.Tensor, end_scores: torch.Tensor, mask: torch.Tensor, max_length: int
) -> torch.Tensor:
    """(B, C, max_length): start_scores[i] + end_scores[i + k] for spans inside `mask` from 1 on, -inf elsewhere.

    Position 0 (no answer) is never part of a span.

    Args:
        start_scores, end_scores: (B, C), log-probabilities or logits.
        mask: boolean (B, C), True at real positions.
        max_length: longest span in words.
    """
    length = start_scores.size(1)
    allowed = mask.clone()
    allowed[:, 0] = False
    low = float("-inf")
    starts = start_scores.masked_fill(~allowed, low)
    ends = end_scores.masked_fill(~allowed, low)
    padded = torch.nn.functional.pad(ends, (0, max_length - 1), value=low)
    offsets = torch.arange(length, device=ends.device).unsqueeze(1) + torch.arange(max_length, device=ends.device)
    return starts.unsqueeze(2) + padded[:, offsets]  # (B, C, max_length)


def best_spans(
    start_scores: torch.Tensor, end_scores: torch.Tensor, mask: torch.Tensor, max_length: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """For each row the span 1 <= i <= j <= i + max_length - 1 with the greatest score.

    Of equal scores the smallest i wins, then the smallest j.

    Returns:
        starts (B,), ends (B,), scores (B,). A row with no real position after 0 gives (0, 0, -inf), a row in which a
        span's score is NaN (0, 0, nan).
    """
    band = span_scores(start_scores, end_scores, mask, max_length).flatten(1)
    best = band.amax(dim=1)
    places = torch.arange(band.size(1), device=band.device)
    # argmax does not promise the first of equal values; the smallest index does.
    flat = torch.where(band == best.unsqueeze(1), places, band.size(1)).amin(dim=1)
    starts = torch.div(flat, max_length, rounding_mode="floor")
    ends = starts + flat % max_length
    none = torch.isneginf(best) | torch.isnan(best)  # amax passes NaN on, and NaN equals nothing
    return starts.masked_fill(none, 0), ends.masked_fill(none, 0), best


def reference_best_span(
    start_scores: torch.Tensor, end_scores: torch.Tensor, max_length: int
) -> tuple[int, int, float]:
    """The same for one row without padding, (C,), by looking at every pair."""
    best = (0, 0, float("-inf"))
    for i in range(1, len(start_scores)):
        for j in range(i, min(i + max_length, len(start_scores))):
            score = (start_scores[i] + end_scores[j]).item()
            if score > best[2]:
                best = (i, j, score)
    return best
