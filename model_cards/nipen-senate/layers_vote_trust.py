"""The trust network: each legislator weighs the votes of the others on the same bill."""

import torch
from torch import nn
from transformers import initialization as init

from .ops_vote import sum_of_squares, wide


class TrustNetwork(nn.Module):
    """The network term of a vote, network[d, u] = sum_w tau[u, w] T[u, w] v[d, w].

    T is a mask that is saved with the model: whose votes a legislator may weigh; never the own one.

    Args:
        size: U, legislators.
        rank: G of tau = P Q; None: tau is any matrix.
        deviation: of the weights at the start, at most 1 / sqrt(U), so that sums over all legislators stay near 1.
    """

    mask: torch.Tensor

    def __init__(self, size: int, rank: int | None = None, deviation: float = 0.1) -> None:
        super().__init__()
        self.size = size
        self.rank = rank
        self.deviation = min(deviation, size**-0.5)
        if rank is None:
            self.weight = nn.Parameter(torch.empty(size, size))  # tau
        else:
            self.left = nn.Parameter(torch.empty(size, rank))  # P
            self.right = nn.Parameter(torch.empty(rank, size))  # Q
        self.register_buffer("mask", torch.empty(size, size, dtype=torch.bool))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.rank is None:
            init.trunc_normal_(self.weight, std=self.deviation, a=-2 * self.deviation, b=2 * self.deviation)
        else:
            for part in (self.left, self.right):
                deviation = (self.deviation / self.rank**0.5) ** 0.5
                init.trunc_normal_(part, std=deviation, a=-2 * deviation, b=2 * deviation)
        init.copy_(self.mask, ~torch.eye(self.size, dtype=torch.bool, device=self.mask.device))

    def trust(self) -> torch.Tensor:
        """Return tau (U, U)."""
        return self.weight if self.rank is None else self.left @ self.right

    def forward(self, votes: torch.Tensor) -> torch.Tensor:
        """Return the network term (B, U) of votes (B, U), +1, -1, or 0 where unknown."""
        tau = self.trust()
        return votes.to(tau.dtype) @ (tau * self.mask).t()

    def penalty(self) -> torch.Tensor:
        """Return ||tau||^2, the sum of the squares of all trust weights, in float32 or wider."""
        if self.rank is None:
            return sum_of_squares([self.weight])
        left, right = wide(self.left), wide(self.right)
        # ||P Q||^2 = trace(P'P Q Q'), which needs no matrix of (U, U).
        return ((left.t() @ left) * (right @ right.t())).sum()

    @torch.no_grad()
    def set_mask(self, mask: torch.Tensor) -> None:
        """Take (U, U) of booleans, or zeros and ones, as the mask.

        Raises:
            ValueError: another shape, another number, or a legislator that would weigh the own vote.
        """
        if tuple(mask.shape) != (self.size, self.size):
            raise ValueError(f"the trust mask must have the shape {(self.size, self.size)}, got {tuple(mask.shape)}")
        if not bool(((mask == 0) | (mask == 1)).all()):
            raise ValueError("the trust mask holds another number than 0 and 1")
        if bool(mask.diagonal().any()):
            row = int(mask.diagonal().bool().nonzero()[0])
            raise ValueError(f"the trust mask has {row} weigh the own vote; its diagonal must be 0")
        self.mask.copy_(mask.bool())
