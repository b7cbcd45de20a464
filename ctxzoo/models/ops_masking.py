"""Softmax, mean and maximum over the positions that exist."""

import torch


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


def boolean_mask(mask: torch.Tensor, name: str = "attention_mask") -> torch.Tensor:
    """Return a mask of zeros and ones as booleans.

    Raises:
        ValueError: another number, such as -1, 0.5 or NaN. Values are only read on the CPU: on a device it would wait
            for the queue.
    """
    if not (torch.compiler.is_compiling() or mask.is_cuda or mask.dtype == torch.bool):
        odd = mask[(mask != 0) & (mask != 1)]
        if odd.numel():
            raise ValueError(f"{name} holds {odd[0].item()}; expected 1 at words and 0 at padding")
    return mask.bool()


def refuse_gaps(mask: torch.Tensor) -> None:
    """Check that the words of a boolean mask (B, n) come first, as a recurrent layer needs them.

    Raises:
        ValueError: a word after padding; the message names row and position. Values are only read on the CPU: on a
            device it would wait for the queue.
    """
    if torch.compiler.is_compiling() or mask.is_cuda:
        return
    gaps = (mask[:, 1:] & ~mask[:, :-1]).nonzero()
    if len(gaps):
        row, position = gaps[0].tolist()
        raise ValueError(
            f"attention_mask has a word at row {row}, position {position + 1}, after padding; this model reads texts "
            "padded on the right"
        )


def masked_mean(x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean over the tokens of each text.

    Args:
        x: (B, n, d) tokens.
        mask: boolean (B, n).

    Returns:
        (B, d), 0 for a text without tokens; and the weight of each token, (B, n), 1 / (their number).
    """
    weights = mask.to(x.dtype) / mask.sum(dim=1, keepdim=True).clamp(min=1)
    return (weights.unsqueeze(1) @ x).squeeze(1), weights


def masked_max(x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the maximum over the tokens of each text, for each feature by itself.

    Args:
        x: (B, n, d) tokens.
        mask: boolean (B, n).

    Returns:
        (B, d), 0 for a text without tokens; and the fraction of the features whose maximum each token gives, (B, n), 0
        for a text without tokens.
    """
    some = mask.any(dim=1, keepdim=True)
    if x.size(1) == 0:
        return x.new_zeros(x.size(0), x.size(2)), x.new_zeros(x.size(0), 0)
    values, indices = mask_logits(x, mask.unsqueeze(-1)).max(dim=1)
    one = torch.full_like(values, 1 / x.size(2))
    fractions = values.new_zeros(mask.shape).scatter_add(1, indices, one)
    return (values * some).to(x.dtype), fractions * some
