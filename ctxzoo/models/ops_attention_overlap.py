"""How much the heads of an attention look at the same words (Lin et al. 2017)."""

import torch


def attention_overlap(weights: torch.Tensor) -> torch.Tensor:
    """||A A^T - I||_F^2, the mean over the documents that have a word (Lin et al. 2017, equation 8).

    It is 0 where the rows of A are orthonormal: each head looks at one word of its own.

    Args:
        weights: A, (B, m, n): each row sums to 1, or is 0 all along in a document without words.

    Returns:
        Scalar in float32 or wider, also under autocast; 0 where no document has a word.
    """
    if weights.dtype in (torch.float16, torch.bfloat16):
        weights = weights.float()
    with torch.autocast(weights.device.type, enabled=False):
        products = weights @ weights.transpose(1, 2)
    identity = torch.eye(products.size(1), dtype=products.dtype, device=products.device)
    overlaps = (products - identity).square().sum(dim=(1, 2))
    has_words = weights.detach().sum(dim=(1, 2)) > 0
    return (overlaps * has_words).sum() / has_words.sum().clamp(min=1)


def reference_attention_overlap(weights: torch.Tensor) -> torch.Tensor:
    """The same in float64, entry by entry."""
    overlaps = []
    for heads in weights.double():
        if not heads.any():
            continue
        overlap = heads.new_zeros(())
        for row in range(len(heads)):
            for column in range(len(heads)):
                product = sum(heads[row, word] * heads[column, word] for word in range(heads.size(1)))
                overlap = overlap + (product - int(row == column)) ** 2
        overlaps.append(overlap)
    return torch.stack(overlaps).mean() if overlaps else weights.new_zeros((), dtype=torch.float64)
