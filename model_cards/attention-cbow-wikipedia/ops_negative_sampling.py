"""The loss of negative sampling (Mikolov et al. 2013)."""

import torch
from torch.nn import functional as F


def negative_sampling_loss(states: torch.Tensor, rows: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """-log sigma(O[t].c) - sum over the kept noise words of log sigma(-O[n].c), in nats.

    Args:
        states: (..., M, F), c: M contexts that share the rows.
        rows: (..., 1 + S, F): O[t] of the centre, then O[n] of the S noise words.
        kept: boolean (..., S), False at noise that does not count.

    Returns:
        (..., M), in float32 at least, also under mixed precision.
    """
    scores = states @ rows.transpose(-1, -2)  # (..., M, 1 + S)
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    noise = F.logsigmoid(-scores[..., 1:]) * kept.unsqueeze(-2)
    return -F.logsigmoid(scores[..., 0]) - noise.sum(dim=-1)


def reference_negative_sampling_loss(state: torch.Tensor, rows: torch.Tensor, kept: torch.Tensor) -> float:
    """The same in float64 for one context: state (F,), rows (1 + S, F), kept (S,)."""
    scores = [float(row.double() @ state.double()) for row in rows]
    loss = -torch.tensor(scores[0], dtype=torch.float64).sigmoid().log()
    for score, counts in zip(scores[1:], kept.tolist(), strict=True):
        if counts:
            loss = loss - torch.tensor(-score, dtype=torch.float64).sigmoid().log()
    return float(loss)
