"""Terms of NIPEN's objective."""

import torch
from torch.nn import functional as F

from .ops_vote import signed_votes, wide


def normal_divergence(mean: torch.Tensor, log_deviation: torch.Tensor) -> torch.Tensor:
    """Return the divergence (B,) of N(mean, exp(log_deviation)^2) from N(0, 1), summed over topics (B, K).

    KL_d = -1/2 sum_k (1 + 2 s - mu^2 - exp(2 s))
    """
    mean, log_deviation = wide(mean), wide(log_deviation)
    return -0.5 * (1 + 2 * log_deviation - mean.square() - (2 * log_deviation).exp()).sum(dim=1)


def authors_log_likelihood(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return v log p + (1 - v) log(1 - p) with v = 1 for yea and -1 for nay, as the code of NIPEN's authors has it.

    For a nay it is 2 log(1 - p) - log p, which is no likelihood. Arguments as in `vote_log_likelihood`.
    """
    signs = signed_votes(labels)
    logits = wide(logits)
    return (signs * F.logsigmoid(logits) + (1 - signs) * F.logsigmoid(-logits)) * signs.abs()
