"""Kernels by their spectral density: features of frequencies, the copula over heads, the divergence from the prior."""

import math
from collections.abc import Iterable

import torch
from torch import nn
from torch.nn import functional as F

from .ops_context_encoder_kernels import FLOOR, map_in_type

SLOPE = 0.2  # of the leaky ReLUs
LEAST_DIAGONAL = 1e-6  # a head that follows the others entirely leaves no row of its own in the copula's factor


def frequency_features(x: torch.Tensor, first: torch.Tensor, second: torch.Tensor | None) -> torch.Tensor:
    """Return the features whose products are values of the kernel (Yaglom).

    phi(x) = [cos(2 pi w1'x) + cos(2 pi w2'x) ; sin(2 pi w1'x) + sin(2 pi w2'x)] / (2 sqrt(M)), so that phi(q).phi(k)
    is r, from -1 to 1.

    Args:
        x: (B, h, n, d) queries or keys, float32 or wider: half precision loses the phase.
        first: w1, (h, M, d); or (B, h, M, d); or (B, h, n, M, d), frequencies of each position's own.
        second: w2, likewise; None: that of a stationary kernel, w1.

    Returns:
        (B, h, n, 2 M).
    """
    cosines, sines = _waves(x, first)
    if second is not None:
        more_cosines, more_sines = _waves(x, second)
        cosines, sines = (cosines + more_cosines) / 2, (sines + more_sines) / 2
    return torch.cat([cosines, sines], dim=-1) / math.sqrt(first.size(-2))


def _waves(x: torch.Tensor, frequencies: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosines and sines of 2 pi w'x, (B, h, n, M) each."""
    if frequencies.dim() == 5:
        phases = (frequencies @ x.unsqueeze(-1)).squeeze(-1)
    else:
        phases = x @ frequencies.transpose(-1, -2)
    phases = 2 * math.pi * phases
    return phases.cos(), phases.sin()


def log_squared_product(query_features: torch.Tensor, key_features: torch.Tensor) -> torch.Tensor:
    """Return log(r^2 + 1e-5) of r = phi(q).phi(k), (B, h, queries, keys): r may be negative, its square is a kernel."""
    return ((query_features @ key_features.transpose(-1, -2)).square() + FLOOR).log()


def odd_network(z: torch.Tensor, maps: Iterable[nn.Module]) -> torch.Tensor:
    """Return sign(z) W6 lrelu(W5 lrelu(W4 |z|)), the network that makes frequencies of noise: odd in z.

    Args:
        z: (..., d).
        maps: linear layers W4, W5 and W6, of d to d numbers.

    Returns:
        (..., d).
    """
    *inner, last = maps
    size = z.abs()
    for layer in inner:
        size = F.leaky_relu(map_in_type(layer, size), SLOPE)
    return z.sign() * map_in_type(last, size)


def copula_factor(directions: torch.Tensor, strength: torch.Tensor | None) -> torch.Tensor:
    """Return L, or Lhat with rows of length 1, of which R = Lhat Lhat' is a correlation over heads, for each dimension.

    L is the strictly lower triangle of t t' over heads, plus the identity.

    Args:
        directions: t, (B, h, n, d).
        strength: (d), factors of the triangle of Lhat; None: L, the authors', whose triangle has none.

    Returns:
        (B, n, d, h, h), lower triangular.
    """
    over_heads = directions.permute(0, 2, 3, 1)
    products = over_heads.unsqueeze(-1) * over_heads.unsqueeze(-2)
    if strength is not None:
        products = strength.view(-1, 1, 1) * products
    factor = products.tril(-1) + torch.eye(products.size(-1), dtype=products.dtype, device=products.device)
    return factor if strength is None else F.normalize(factor, dim=-1)


def join_heads(factor: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """Return noise of each head that is a sum of that of all heads, Lhat e, with one vector over heads for each (d, k).

    Args:
        factor: (B, n, d, h, h).
        noise: e, (B or 1, h, 1, K, d), independent.

    Returns:
        (B, h, n, K, d).
    """
    return torch.einsum("bndhg,bgkd->bhnkd", factor, noise.squeeze(2).expand(factor.size(0), -1, -1, -1))


def frequency_divergence(
    mean: torch.Tensor, log_deviation: torch.Tensor, prior_scale: float, factor: torch.Tensor | None
) -> torch.Tensor:
    """Return KL(N(mu, S R S) || N(0, s0^2 I)) in nats, S = diag(std), the sum over heads and dimensions.

    1/2 [sum_h (std_h^2 + mu_h^2) / s0^2 - h + sum_h log(s0^2 / std_h^2) - log det R] for each dimension, with
    log det R = 2 sum_h log Lhat_hh.

    Args:
        mean: mu, (B, h, n, d).
        log_deviation: log std, likewise.
        prior_scale: s0.
        factor: Lhat, (B, n, d, h, h); None: R is the identity.

    Returns:
        (B, n).
    """
    log_ratio = log_deviation - math.log(prior_scale)
    terms = ((2 * log_ratio).exp() + (mean / prior_scale).square() - 1 - 2 * log_ratio) / 2
    divergence = terms.sum(dim=(1, 3))
    if factor is not None:
        own = factor.diagonal(dim1=-2, dim2=-1)
        divergence = divergence - own.clamp(min=LEAST_DIAGONAL).log().sum(dim=(-2, -1))
    return divergence


def reference_log_kernel(
    query: torch.Tensor, key: torch.Tensor, first: torch.Tensor, second: torch.Tensor
) -> torch.Tensor:
    """Compute log(r^2 + 1e-5), (queries, keys), of one head in float64, pair by pair and frequency by frequency.

    Args:
        query, key: (queries, d), (keys, d).
        first, second: w1 and w2, (M, d).
    """
    values = torch.zeros(len(query), len(key), dtype=torch.float64)
    for i, q in enumerate(query.double()):
        for j, k in enumerate(key.double()):
            total = 0.0
            for w1, w2 in zip(first.double(), second.double(), strict=True):
                at_q, at_k = ([2 * math.pi * (w @ x).item() for w in (w1, w2)] for x in (q, k))
                total += sum(math.cos(a) for a in at_q) * sum(math.cos(a) for a in at_k)
                total += sum(math.sin(a) for a in at_q) * sum(math.sin(a) for a in at_k)
            values[i, j] = math.log((total / (4 * len(first))) ** 2 + FLOOR)
    return values
