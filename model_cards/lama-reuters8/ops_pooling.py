"""One vector for each text from its tokens: the mean or the maximum over those that exist."""

import torch

from .ops_masking import mask_logits


def masked_mean(x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean over the tokens of each text.

    Args:
        x: (B, n, d) tokens.
        mask: boolean (B, n).

    Returns:
        (B, d), 0 for a text without tokens; and the weight of each token, (B, n), 1 / (their number).
    """
    weights = mask.to(x.dtype) / mask.sum(dim=1, keepdim=True).clamp(min=1)
    return (weights.unsqueeze(1) @ x).squeeze(1), weights


def masked_max(x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Maximum over the tokens of each text, for each feature by itself.

    Args:
        x: (B, n, d) tokens.
        mask: boolean (B, n).

    Returns:
        (B, d), 0 for a text without tokens; and the share of the features that each token gives the maximum of,
        (B, n), 0 for a text without tokens.
    """
    some = mask.any(dim=1, keepdim=True)
    if x.size(1) == 0:
        return x.new_zeros(x.size(0), x.size(2)), x.new_zeros(x.size(0), 0)
    values, places = mask_logits(x, mask.unsqueeze(-1)).max(dim=1)
    one = torch.full_like(values, 1 / x.size(2))
    shares = values.new_zeros(mask.shape).scatter_add(1, places, one)
    return (values * some).to(x.dtype), shares * some


def reference_pooling(x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and maximum, (B, d) each, in float64, text by text."""
    none = x.new_zeros(1, x.size(2), dtype=torch.float64)
    texts = [tokens[real] if real.any() else none for tokens, real in zip(x.double(), mask, strict=True)]
    return torch.stack([text.mean(dim=0) for text in texts]), torch.stack([text.amax(dim=0) for text in texts])
