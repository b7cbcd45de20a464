"""Layers of models of votes: tables of parameters, autoencoders of bags of words or votes, and the trust network.

In the trust network each legislator weighs the votes of the others on the same bill.
"""

from functools import partial
from itertools import pairwise

import torch
from torch import nn
from transformers import initialization as init

from .layers_linear import make_linear
from .ops_execution import dropout
from .ops_inputs import to_float32_or_wider
from .ops_vote import sum_of_squares


class Table(nn.Module):
    """A table of parameters that starts from a truncated normal distribution, or constant.

    Args:
        shape: Shape of the table.
        deviation: Standard deviation of the initial entries; 0: all entries start at `value`.
        value: Mean of the initial entries.
    """

    def __init__(self, *shape: int, deviation: float = 0.0, value: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(*shape))
        self.deviation, self.value = deviation, value
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.deviation:
            far = 2 * self.deviation
            init.trunc_normal_(self.weight, self.value, self.deviation, self.value - far, self.value + far)
        else:
            init.constant_(self.weight, self.value)


def he_linear(in_features: int, out_features: int) -> nn.Linear:
    """Return a linear layer that starts from N(0, 2 / fan_in) (He et al. 2015), with a bias of 0."""
    return make_linear(in_features, out_features, partial(init.kaiming_normal_, nonlinearity="relu"))


class DenoisingAutoencoder(nn.Module):
    """Layers h <- relu(W h + b) from an input down to a code, and up again.

    Dropout stands behind every layer but the last; the code itself is that before its dropout.

    Args:
        size: Length V of the input vector.
        widths: Widths of the hidden layers between input and code; the decoder mirrors them.
        code_size: Number K of topics.
        rate: Dropout rate.
        linear_output: Whether the last layer is linear, without relu.
    """

    def __init__(
        self, size: int, widths: list[int], code_size: int, rate: float, *, linear_output: bool = False
    ) -> None:
        super().__init__()
        down = [size, *widths, code_size]
        pairs = list(pairwise(down))
        self.encoder = nn.ModuleList(he_linear(first, second) for first, second in pairs)
        self.decoder = nn.ModuleList(he_linear(second, first) for first, second in reversed(pairs))
        self.rate = rate
        self.linear_output = linear_output

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the code (B, K), the last hidden layer before it (B, last width), and the reconstruction (B, V)."""
        hidden, code = x, x
        for layer in self.encoder:
            hidden = x
            code = torch.relu(layer(x))
            x = dropout(code, self.rate, training=self.training)
        for layer in self.decoder[:-1]:
            x = dropout(torch.relu(layer(x)), self.rate, training=self.training)
        output: torch.Tensor = self.decoder[-1](x)
        return code, hidden, output if self.linear_output else torch.relu(output)


def mask_randomly(x: torch.Tensor, level: float, training: bool) -> torch.Tensor:
    """Return x, in training with entries set to 0 at random with probability `level`, and nothing rescaled."""
    return x.masked_fill(torch.rand_like(x) < level, 0.0) if training and level else x


class TrustNetwork(nn.Module):
    """The network term of a vote, network[d, u] = sum_w tau[u, w] T[u, w] v[d, w].

    T is a mask that is saved with the model: whose votes a legislator may weigh; never the own one.

    Args:
        size: Number U of legislators.
        rank: Rank G of the trust weights tau = P Q; None: a full matrix.
        deviation: Standard deviation of the initial weights, at most 1 / sqrt(U), so that sums over all legislators
            stay near 1.
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
                # An entry of P Q is a sum of G products: so it starts with the deviation that one of tau would have.
                deviation = (self.deviation / self.rank**0.5) ** 0.5
                init.trunc_normal_(part, std=deviation, a=-2 * deviation, b=2 * deviation)
        init.copy_(self.mask, ~torch.eye(self.size, dtype=torch.bool, device=self.mask.device))

    def trust_matrix(self) -> torch.Tensor:
        """Return the trust tau (U, U) of legislators in each other."""
        return self.weight if self.rank is None else self.left @ self.right

    def forward(self, votes: torch.Tensor) -> torch.Tensor:
        """Return what others' votes add to each logit, (B, U), from votes (B, U): +1, -1, or 0 where unknown."""
        tau = self.trust_matrix()
        return votes.to(tau.dtype) @ (tau * self.mask).t()  # row u of tau is for legislator u

    def compute_penalty(self) -> torch.Tensor:
        """Return ||tau||^2, the sum of the squares of all trust weights, in float32 or wider."""
        if self.rank is None:
            return sum_of_squares([self.weight])
        left, right = to_float32_or_wider(self.left), to_float32_or_wider(self.right)
        # ||P Q||^2 = trace(P'P Q Q'), which needs no matrix of (U, U).
        return ((left.t() @ left) * (right @ right.t())).sum()  # matrices (G, G)

    @torch.no_grad()
    def set_mask(self, mask: torch.Tensor) -> None:
        """Set the mask (U, U) of the trust weights: booleans, or zeros and ones.

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
