"""Parts of NIPEN: a variational autoencoder of texts, the small network of "tensor", and terms of the objective."""

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from .layers_vote import he_linear
from .ops_execution import dropout
from .ops_inputs import to_float32_or_wider
from .ops_vote import votes_to_signs

WIDEST = 10.0  # of the log of a standard deviation


class ReadTexts(NamedTuple):
    """What an encoder reads of B texts.

    Attributes:
        topics: (B, K) topics z of the texts, at evaluation their mean.
        hidden: (B, width) last hidden layer before the topics.
        reconstruction: (B, V) reconstructed bags of words.
        mean, log_deviation: (B, K) means and logarithms of the standard deviations of the topics, of the variational
            encoder; None in the other.
    """

    topics: torch.Tensor
    hidden: torch.Tensor
    reconstruction: torch.Tensor
    mean: torch.Tensor | None = None
    log_deviation: torch.Tensor | None = None


class VariationalAutoencoder(nn.Module):
    """A variational autoencoder whose dropout acts on the matrices of its layers, as in the authors' code.

    Args:
        size: Number V of entries of a bag of words.
        widths: Widths of the hidden layers, from the words to the topics.
        code_size: Number K of topics.
        rate: Dropout rate.
    """

    def __init__(self, size: int, widths: list[int], code_size: int, rate: float) -> None:
        super().__init__()
        down = [size, *widths]
        up = [code_size, *reversed(widths), size]
        self.encoder = nn.ModuleList(he_linear(a, b) for a, b in pairwise(down))
        self.mean = he_linear(widths[-1], code_size)
        self.log_deviation = he_linear(widths[-1], code_size)
        self.decoder = nn.ModuleList(he_linear(a, b) for a, b in pairwise(up))
        self.rate = rate

    def forward(self, x: torch.Tensor) -> ReadTexts:
        """Encode bags of words (B, V) as topics (B, K), and decode them again."""
        for layer in self.encoder:
            x = torch.relu(self._apply_layer(layer, x))
        hidden = x
        mean = self._apply_layer(self.mean, hidden)
        log_deviation = self._apply_layer(self.log_deviation, hidden).clamp(-WIDEST, WIDEST)
        topics = mean + torch.randn_like(mean) * log_deviation.exp() if self.training else mean  # (B, K)
        x = topics
        for layer in self.decoder[:-1]:
            x = torch.relu(self._apply_layer(layer, x))
        return ReadTexts(topics, hidden, self._apply_layer(self.decoder[-1], x), mean, log_deviation)

    def _apply_layer(self, layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
        """Return `layer(x)`, in training with dropout of its weights rather than of `x`."""
        # In evaluation the layer may be a quantised one, which has no weight to drop from.
        if not self.training:
            mapped: torch.Tensor = layer(x)
            return mapped
        assert isinstance(layer, nn.Linear)
        return F.linear(x, dropout(layer.weight, self.rate, training=True), layer.bias)


class TensorAgreement(nn.Module):
    """The content of "tensor": a small network of the product of points, the same for every legislator and bill.

    t[d, u] = x[u] * (y[d] * a[d]);  h <- dropout(tanh(W h + c)) for each hidden layer;  W_1 h + c_1

    Args:
        size: Number K of topics.
        widths: Widths of the hidden layers of the tensor network.
        rate: Dropout rate.
    """

    def __init__(self, size: int, widths: list[int], rate: float) -> None:
        super().__init__()
        sizes = [size, *widths]
        self.hidden = nn.ModuleList(he_linear(a, b) for a, b in pairwise(sizes))
        self.output = he_linear(widths[-1], 1)
        self.rate = rate

    def forward(self, weighed: torch.Tensor, legislators: torch.Tensor) -> torch.Tensor:
        """Return how much each legislator agrees with each bill, (B, U), from y * a (B, K) of bills and x (U, K)."""
        hidden = weighed.unsqueeze(1) * legislators  # (B, U, K)
        for layer in self.hidden:
            hidden = dropout(torch.tanh(layer(hidden)), self.rate, training=self.training)
        found: torch.Tensor = self.output(hidden).squeeze(2)  # (B, U)
        return found


def normal_kl_divergence(mean: torch.Tensor, log_deviation: torch.Tensor) -> torch.Tensor:
    """Return the divergence (B,) of N(mean, exp(log_deviation)^2) from N(0, 1), summed over topics (B, K).

    KL_d = -1/2 sum_k (1 + 2 s - mu^2 - exp(2 s))
    """
    mean, log_deviation = to_float32_or_wider(mean), to_float32_or_wider(log_deviation)
    return -0.5 * (1 + 2 * log_deviation - mean.square() - (2 * log_deviation).exp()).sum(dim=1)


def log_likelihood_of_authors_code(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the log-likelihood of votes as the authors' code computes it: v log p + (1 - v) log(1 - p), v = 1 or -1.

    For a nay it is 2 log(1 - p) - log p, which is no likelihood. Arguments as in `vote_log_likelihood`.
    """
    signs = votes_to_signs(labels)
    logits = to_float32_or_wider(logits)
    # The sign of a vote that is not known is 0.
    return (signs * F.logsigmoid(logits) + (1 - signs) * F.logsigmoid(-logits)) * signs.abs()
