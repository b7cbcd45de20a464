"""Sessions of items: checks of ids and labels, the order of steps, which steps a prediction sees, and its loss."""

import torch
from torch.nn import functional as F

from .ops_inputs import make_word_mask, to_float32_or_wider, to_int64
from .ops_words import IGNORED


def left_align_session(
    input_ids: torch.Tensor | None, attention_mask: torch.Tensor | None, num_items: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Check the items of sessions (B, T) and move them to the left, so that all padding stands behind them.

    Args:
        input_ids: (B, T) ids of items 1..num_items; 0 is padding.
        attention_mask: (B, T) mask, 1 at items, 0 at padding; None: every id above 0 is an item.
        num_items: Number of items.

    Returns:
        Ids (B, T) int64, 0 at padding; mask (B, T), True at items, which come first; and the position (B, T) of each
        step in the input, see `restore_positions`.

    Raises:
        ValueError: no ids, another shape or type, an empty batch, an id outside the items (ranges are read on the CPU
            only: on a device it would wait for the queue), a mask of another shape or with other values than 0 and 1.
    """
    if input_ids is None:
        raise ValueError("pass input_ids, (batch, steps) the items of each session")
    ids = to_int64("input_ids", input_ids)
    if ids.dim() != 2:
        raise ValueError(f"input_ids must have the shape (batch, steps), got {tuple(ids.shape)}")
    if not torch.compiler.is_compiling():
        if ids.size(0) == 0 or ids.size(1) == 0:
            raise ValueError(f"input_ids of shape {tuple(ids.shape)} hold no session; expected one step or more of one")
        if not ids.is_cuda:
            low, high = (int(value) for value in ids.aminmax())
            if low < 0 or high > num_items:
                raise ValueError(f"item id {low if low < 0 else high} is none of the items 1..{num_items}")
    mask = make_word_mask(ids, attention_mask) & (ids > 0)
    # Items are sorted before padding, and a stable sort keeps their order.
    positions = torch.argsort((~mask).long(), dim=1, stable=True)
    mask = mask.gather(1, positions)
    return ids.gather(1, positions) * mask, mask, positions


def restore_positions(steps: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Return steps (B, T, ...) moved back to where their items were before `left_align_session`."""
    index = positions.view(*positions.shape, *[1] * (steps.dim() - 2)).expand_as(steps)
    # What `gather` took from these positions goes back to them.
    return torch.zeros_like(steps).scatter(1, index, steps)


def make_step_visibility(mask: torch.Tensor, every_position: bool) -> torch.Tensor:
    """Return which steps each prediction of a session sees.

    Args:
        mask: Boolean (B, T), True at items, which come first.
        every_position: Whether there is a prediction after each step, which sees the steps up to it; otherwise one,
            which sees all.

    Returns:
        (B, P, T) booleans, P = T or 1.
    """
    if not every_position:
        return mask.unsqueeze(1)
    step = torch.arange(mask.size(1), device=mask.device)
    return mask.unsqueeze(1) & (step <= step.unsqueeze(1))  # (B, T, T): step j <= i


def select_last_steps(steps: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return (B, 1, d) the last real step of each session, of steps (B, T, d); 0 for a session without items."""
    index = (mask.sum(dim=1) - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, steps.size(2))  # (B, 1, d)
    return steps.gather(1, index) * mask[:, :1].unsqueeze(2)  # items come first, so that the first step tells


def check_next_item_labels(
    labels: torch.Tensor, attention_mask: torch.Tensor | None, input_ids: torch.Tensor, num_items: int
) -> torch.Tensor:
    """Check the items that came, and return them with `IGNORED` where nothing is predicted.

    Args:
        labels: (B,) the item after each session; or (B, T) the item after each step, `IGNORED` where none counts.
        attention_mask, input_ids: Mask and ids, as in `left_align_session`; labels after padding never count.
        num_items: Number of items.

    Returns:
        Int64 of the shape of `labels`.

    Raises:
        ValueError: another shape or type, or no item (read on the CPU only).
    """
    labels = to_int64("labels", labels)
    if labels.shape not in (input_ids.shape, input_ids.shape[:1]):
        raise ValueError(
            f"labels of shape {tuple(labels.shape)}: expected {tuple(input_ids.shape[:1])}, the item after each "
            f"session, or {tuple(input_ids.shape)}, the item after each step"
        )
    if labels.dim() == 2:
        real = make_word_mask(input_ids, attention_mask) & (input_ids > 0)
        labels = labels.masked_fill(~real, IGNORED)
    if not (torch.compiler.is_compiling() or labels.is_cuda):
        # `IGNORED` is a label of steps alone: after a whole session there is an item.
        odd = labels[((labels < 1) | (labels > num_items)) & ((labels != IGNORED) if labels.dim() == 2 else True)]
        if odd.numel():
            raise ValueError(f"label {odd[0].item()} is none of the items 1..{num_items}")
    return labels


def next_item_loss(logits: torch.Tensor, labels: torch.Tensor, divergence: torch.Tensor | None = None) -> torch.Tensor:
    """Return the cross-entropy in nats, plus a divergence, the mean over the predictions that count; 0 without any.

    Args:
        logits: (B, N) or (B, T, N) scores of N items.
        labels: (B,) or (B, T) ids of the next items, as `check_next_item_labels` returns them.
        divergence: Divergence of each prediction, in the shape of `labels`, that is added to the loss; None: none.
    """
    counts = labels != IGNORED
    summed = F.cross_entropy(
        logits.reshape(-1, logits.size(-1)), labels.flatten(), ignore_index=IGNORED, reduction="sum"
    )
    if divergence is not None:
        summed = summed + (divergence * counts).sum()
    return summed / counts.sum().clamp(min=1)


POWER = 0.75  # of the counts by which items are sampled (Mikolov et al. 2013)


def accumulate_item_weights(item_counts: list[int] | None, num_items: int) -> torch.Tensor:
    """Return the running sums (num_items,), in float64, of the weights by which items are drawn.

    The weight of item j is (count + 1) ^ 3/4, of unknown counts the same for all.

    Args:
        item_counts: How often each of the items 1..num_items stands in the training; None: not known.
        num_items: Number of items.
    """
    counts = torch.zeros(num_items) if item_counts is None else torch.tensor(item_counts)
    return (counts.double() + 1).pow_(POWER).cumsum(dim=0)


def draw_items(weight_sums: torch.Tensor, number: int) -> torch.Tensor:
    """Return sampled items and the logarithm of how often each is expected, both (number,), as a stack (2, number).

    Item j is drawn with replacement, with a probability q_j in proportion to its weight.

    Args:
        weight_sums: (num_items,) running sums of the weights, `accumulate_item_weights`.
        number: Number of items to draw.

    Returns:
        float64: the items, from 1, and log(number q_j) of each.
    """
    total = weight_sums[-1]
    points = torch.rand(number, dtype=torch.float64, device=weight_sums.device) * total
    rows = torch.searchsorted(weight_sums, points, right=True).clamp(max=len(weight_sums) - 1)
    weights = weight_sums[rows] - torch.where(rows > 0, weight_sums[rows - 1], 0)
    return torch.stack([(rows + 1).double(), (number * weights / total).log()])


def sampled_next_item_loss(
    target_scores: torch.Tensor,
    sample_scores: torch.Tensor,
    targets: torch.Tensor,
    samples: torch.Tensor,
    log_expected: torch.Tensor,
    divergence: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the sampled softmax in nats, plus a divergence, the mean over n predictions; 0 without any.

    -s_y + log(exp s_y + sum over samples j other than y of exp(s_j - log(S q_j))) (Bengio and Senécal 2008; Jean et al.
    2015). The sum within the logarithm is, in expectation over the samples, that over all items; of many samples the
    loss is that of the full softmax.

    Args:
        target_scores: (n,) scores of the items that came.
        sample_scores: (n, S) scores of the S sampled items.
        targets: (n,) items that came.
        samples: (S,) sampled items, the same for all predictions.
        log_expected: (S,) log(S q_j), the logarithm of how often each sampled item is expected to be drawn.
        divergence: (n,) divergence of each prediction that is added to the loss; None: none.
    """
    target_scores, corrected = to_float32_or_wider(target_scores), to_float32_or_wider(sample_scores)
    corrected = corrected - log_expected.to(corrected.dtype)
    corrected = corrected.masked_fill(samples == targets.unsqueeze(1), -torch.inf)  # the target stands there already
    losses = torch.cat([target_scores.unsqueeze(1), corrected], dim=1).logsumexp(dim=1) - target_scores
    summed = losses.sum() if divergence is None else (losses + divergence).sum()
    return summed / max(len(targets), 1)
