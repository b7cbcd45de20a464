"""The loss of a regression whose rows may have no target."""

import torch


def squared_error(
    predicted: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean squared error over the targets that there are.

    Args:
        predicted: (B, n, T).
        labels: (B, n, T) floats, or (B, n) for one target; NaN where there is no target.
        mask: boolean (B, n), True at real rows; others never count.

    Returns:
        Scalar in the square of the targets' unit, in float32 or wider, 0 without any target; and how many there are,
        at least 1.

    Raises:
        ValueError: labels of another shape or type.
    """
    if labels.dim() == 2 and predicted.size(-1) == 1:
        labels = labels.unsqueeze(-1)
    if labels.shape != predicted.shape:
        raise ValueError(f"labels must have shape {tuple(predicted.shape)}, got {tuple(labels.shape)}")
    if not labels.is_floating_point():
        raise ValueError(f"labels must be floats, NaN where there is no target; got {labels.dtype}")
    counts = mask.unsqueeze(-1) & ~labels.isnan()
    wide = torch.promote_types(predicted.dtype, torch.float32)
    # Not a product: what stands where nothing counts may be no number.
    errors = torch.where(counts, predicted.to(wide) - labels.to(wide), 0.0)
    number = counts.sum().clamp(min=1)
    return errors.square().sum() / number, number
