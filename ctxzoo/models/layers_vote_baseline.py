"""Models of votes to compare NIPEN with; each gives logits of a yea and a penalty of its own.

B bills of a batch, U legislators, D bills of the training, K factors.
"""

from typing import NamedTuple

import torch
from torch import nn
from transformers import initialization as init

from .layers_vote import DenoisingAutoencoder, Table, TrustNetwork, he_linear, mask_randomly
from .ops_execution import dropout
from .ops_inputs import to_float32_or_wider
from .ops_vote import find_common_voters, sum_of_squares, votes_to_signs

START = 0.1  # deviation of factors


class Bills(NamedTuple):
    """A batch as the models read it.

    Attributes:
        ids: (B,) ids of the bills, 0..D - 1, or -1 for new ones.
        votes: (B, U) votes on each bill: +1, -1, or 0 where unknown.
        bags: (B, V) counts of the words of each bill.
        fraction: Fraction B / D with which terms that all batches share enter the loss of this batch.
    """

    ids: torch.Tensor
    votes: torch.Tensor
    bags: torch.Tensor
    fraction: float


class IdealPoint(nn.Module):
    """Points of legislators and bills: logits = x_u . a_d + b_d; `WithNetwork` adds what the others vote.

    `parts` is U, D and K.
    """

    def __init__(self, parts: tuple[int, int, int], ridge: float, rate: float) -> None:
        super().__init__()
        users, bills, size = parts
        self.legislators = Table(users, size, deviation=START)
        self.bills = Table(bills, size, deviation=START)
        self.bias = Table(bills)
        self.ridge, self.rate = ridge, rate

    @torch.no_grad()
    def init_from_votes(self, votes: torch.Tensor) -> None:
        """Start the legislators from the principal components of votes (D, U), 1, 0 or NaN, and the bills from 0.

        From drawn points of one dimension some trainings end far below the others.
        """
        signs, seen = votes_to_signs(votes.double()), ~votes.isnan()
        centred = (signs - signs.sum(1, keepdim=True) / seen.sum(1, keepdim=True).clamp(min=1)) * seen  # (D, U)
        # eigh gives the smallest eigenvalue first.
        components = torch.linalg.eigh(centred.t() @ centred).eigenvectors.flip(1)[:, : self.legislators.weight.size(1)]
        # Eigenvectors have length 1: with this factor their numbers are of the size of START.
        self.legislators.weight[:, : components.size(1)] = components * (START * len(components) ** 0.5)
        self.bills.weight.zero_()

    def forward(self, batch: Bills) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (B, U) from positions of legislators and bills, and the penalty, a scalar."""
        points, bias = self.bills.weight[batch.ids], self.bias.weight[batch.ids].unsqueeze(1)  # (B, K), (B, 1)
        penalty = sum_of_squares([points, bias]) + batch.fraction * sum_of_squares([self.legislators.weight])
        logits = dropout(points, self.rate, self.training) @ self.legislators.weight.t() + bias
        return logits, 0.5 * self.ridge * penalty


class AutoRec(nn.Module):
    """I-AutoRec (Sedhain et al. 2015): an autoencoder of the known votes on a bill, of several layers."""

    def __init__(self, users: int, widths: list[int], size: int, rate: float, ridge: float) -> None:
        super().__init__()
        self.autoencoder = DenoisingAutoencoder(users, widths, size, rate, linear_output=True)
        self.ridge = ridge

    def forward(self, batch: Bills) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (B, U) of an autoencoder of the known votes on a bill, and the penalty, a scalar."""
        _, _, logits = self.autoencoder(batch.votes)
        return logits, 0.5 * self.ridge * batch.fraction * sum_of_squares(self.autoencoder.parameters())


class Cdae(nn.Module):
    """CDAE (Wu et al. 2016): h = sigmoid(W v + V_d + c) of known votes v, some left out; logits = W' h + c'."""

    def __init__(self, parts: tuple[int, int, int], level: float, ridge: float) -> None:
        super().__init__()
        users, bills, size = parts
        self.inner = he_linear(users, size)
        self.bills = Table(bills, size, deviation=START)
        self.outer = he_linear(size, users)
        self.level, self.ridge = level, ridge

    def forward(self, batch: Bills) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (B, U) of a denoising autoencoder with a vector of each bill, and the penalty, a scalar."""
        bill_vectors = self.bills.weight[batch.ids]
        hidden = torch.sigmoid(self.inner(mask_randomly(batch.votes, self.level, self.training)) + bill_vectors)
        layers = sum_of_squares([*self.inner.parameters(), *self.outer.parameters()])
        return self.outer(hidden), 0.5 * self.ridge * (batch.fraction * layers + sum_of_squares([bill_vectors]))


class TrustSvd(nn.Module):
    """TrustSVD (Guo, Zhang and Yorke-Smith 2015), whose scores are logits.

    mu + b_u + b_d + q_d . (p_u + |I_u|^-1/2 sum_{i in I_u} y_i + |T_u|^-1/2 sum_{w in T_u} w_w), where legislator u
    voted on the bills I_u and trusts T_u; w_w . p_u is to be 1 for each of these.
    """

    observed: torch.Tensor
    mask: torch.Tensor

    def __init__(self, parts: tuple[int, int, int], ridge: float, trust_ridge: float, rate: float) -> None:
        super().__init__()
        users, bills, size = parts
        self.mean = Table(1)
        self.legislator_bias, self.bill_bias = Table(users), Table(bills)
        self.legislators, self.trusted = (Table(users, size, deviation=START) for _ in range(2))
        self.bills, self.voted = (Table(bills, size, deviation=START) for _ in range(2))
        self.ridge, self.trust_ridge, self.rate = ridge, trust_ridge, rate
        self.register_buffer("observed", torch.empty(bills, users, dtype=torch.bool))
        self.register_buffer("mask", torch.empty(users, users, dtype=torch.bool))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.copy_(self.observed, torch.ones_like(self.observed))
        init.copy_(self.mask, ~torch.eye(len(self.mask), dtype=torch.bool, device=self.mask.device))

    @torch.no_grad()
    def set_observed_votes(self, votes: torch.Tensor) -> None:
        """Set on which bills each legislator voted, (D, U): legislators with a common bill trust each other."""
        self.observed.copy_(votes.bool())
        self.mask.copy_(find_common_voters(votes))

    def forward(self, batch: Bills) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (B, U) of factors with implicit votes and trust, and the penalty, a scalar."""
        points, kind = self.legislators.weight, self.legislators.weight.dtype
        observed, mask = self.observed.to(kind), self.mask.to(kind)
        implicit = observed.t() @ self.voted.weight / observed.sum(dim=0).clamp(min=1).sqrt().unsqueeze(1)  # (U, K)
        trusted = mask @ self.trusted.weight / mask.sum(dim=1).clamp(min=1).sqrt().unsqueeze(1)  # (U, K)
        bills, bias = self.bills.weight[batch.ids], self.bill_bias.weight[batch.ids].unsqueeze(1)
        logits = self.mean.weight + self.legislator_bias.weight + bias
        logits = logits + dropout(bills, self.rate, self.training) @ (points + implicit + trusted).t()
        shared = sum_of_squares([points, self.trusted.weight, self.voted.weight, self.legislator_bias.weight])
        errors = to_float32_or_wider(mask * (1 - points @ self.trusted.weight.t())).square().sum()  # over (U, U)
        penalty = self.ridge * (batch.fraction * shared + sum_of_squares([bills, bias]))
        return logits, 0.5 * (penalty + batch.fraction * self.trust_ridge * errors)


class Cdl(nn.Module):
    """CDL (Wang, Wang and Yeung 2015): factors of a bill are the code of its text plus a deviation of its own."""

    def __init__(
        self, parts: tuple[int, int, int], vocab_size: int, widths: list[int], rate: float, level: float, ridge: float
    ) -> None:
        super().__init__()
        users, bills, size = parts
        self.autoencoder = DenoisingAutoencoder(vocab_size, widths, size, rate)
        self.legislators = Table(users, size, deviation=START)
        self.bills = Table(bills, size, deviation=START)
        self.level, self.ridge = level, ridge

    def forward(self, batch: Bills, text_weight: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (B, U) and the penalty with the squared errors of the texts, a scalar."""
        code, _, rebuilt = self.autoencoder(mask_randomly(batch.bags, self.level, self.training))
        # A new bill, whose id is -1, has the code of its text alone.
        deviation = self.bills.weight[batch.ids.clamp(min=0)] * (batch.ids >= 0).unsqueeze(1)
        shared = sum_of_squares([self.legislators.weight, *self.autoencoder.parameters()])
        penalty = self.ridge * (batch.fraction * shared + sum_of_squares([deviation]))
        errors = sum_of_squares([to_float32_or_wider(rebuilt) - to_float32_or_wider(batch.bags)])
        return (code + deviation) @ self.legislators.weight.t(), 0.5 * (penalty + text_weight * errors)


class WithNetwork(nn.Module):
    """An ideal point with the trust network added to its logits."""

    def __init__(self, parts: tuple[int, int, int], ridge: float, trust_ridge: float, rate: float) -> None:
        super().__init__()
        self.points = IdealPoint(parts, ridge, rate)
        self.trust = TrustNetwork(parts[0], deviation=0.01)
        self.trust_ridge = trust_ridge

    def forward(self, batch: Bills) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (B, U) of ideal points with a network of trust, and the penalty, a scalar."""
        logits, penalty = self.points(batch)
        return logits + self.trust(
            batch.votes
        ), penalty + 0.5 * self.trust_ridge * batch.fraction * self.trust.compute_penalty()
