"""A learned spectral density: from a summary of an example to the frequencies of its kernel (IKA, IKAN, MIKAN)."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_linear import make_linear
from .ops_context_encoder_density import SLOPE, copula_factor, frequency_divergence, join_heads, odd_network
from .ops_context_encoder_kernels import map_in_type

LOG_DEVIATIONS = (-10.0, 5.0)  # bounds of the logarithm of a standard deviation
APART = 0.1  # how far the two frequencies of a pair start from each other, in their own standard deviations
LARGEST_DRAW = 2.0  # of the authors' copula, which clips there
LARGEST_FRACTION = 1 - 2.0**-20  # of a quasi-random point, whose normal quantile is finite


def kaiming_linear(in_features: int, out_features: int) -> nn.Linear:
    """Return a linear layer whose weights start uniform as He et al. (2015) have it, and its bias from 0."""
    return make_linear(in_features, out_features, partial(init.kaiming_uniform_, a=SLOPE))


@dataclass
class Frequencies:
    """Frequencies of a kernel, and what drawing them costs.

    Attributes:
        first: w1, (B, h, n, M, d).
        second: w2, likewise; None for a stationary kernel.
        divergence: (B, n) of their density from the prior, in nats.
        copula_term: (B, n) the authors' term, -sum U log(U + 1e-5), the mean over draws; None without their copula.
    """

    first: torch.Tensor
    second: torch.Tensor | None
    divergence: torch.Tensor
    copula_term: torch.Tensor | None


class SpectralDensity(nn.Module):
    """The density of the frequencies of an example, given by networks that the heads share, and draws of it.

    u = lrelu(m W1 + b1), mu = u W2 + b2, log std = u W3 + b3 + log s0; noise z+ = mu + std e+ and z- = -mu + std e-,
    M / 2 of each, which makes the density even, as a real kernel needs; w = c_h sign(z) net(|z|) with a learned
    positive factor c_h of each head. In evaluation e is a quasi-random sample that is saved with the model.

    W2, W3 and the strength of the Gaussian copula start at 0, and the networks at the identity, those of w2 a little
    beside it: then w is normal with its intended variance, the kernel that of `DirectKernel` at its start, and the
    divergence from the prior exactly 0. The copula has its own strength, a number of each dimension by which the
    products of the heads are multiplied: with C at 0 instead t would be 0, and at t = 0 the gradient of t t' is 0 too.

    Args:
        num_heads: h.
        head_size: d.
        num_features: M, frequencies, an even number.
        start_variance: mean of w^2 at the start.
        stationary: w2 = w1.
        copula: none: heads are independent; gaussian: noise of heads is correlated; authors: as in their code, which
            scales the noise of a head and clips it at 2, and leaves heads uncorrelated.
        prior_scale: s0.
        noise_seed: of the noise in evaluation.
        num_eval_samples: sets of M frequencies in evaluation.

    Raises:
        ValueError: an odd number of frequencies.
    """

    evaluation_noise: torch.Tensor

    def __init__(
        self,
        num_heads: int,
        head_size: int,
        num_features: int,
        *,
        start_variance: float,
        stationary: bool = False,
        copula: str = "none",
        prior_scale: float = 0.1,
        noise_seed: int = 0,
        num_eval_samples: int = 1,
    ) -> None:
        super().__init__()
        if num_features < 2 or num_features % 2:
            raise ValueError(
                f"num_features must be even, at least 2: half of the frequencies mirrors the other; got {num_features}"
            )
        self.pairs = num_features // 2
        self.start_variance = start_variance
        self.copula = copula
        self.prior_scale = prior_scale
        self.noise_seed = noise_seed
        size = head_size
        self.summary = kaiming_linear(2 * size, size)
        self.mean = kaiming_linear(size, size)
        self.log_deviation = kaiming_linear(size, size)
        nets = 1 if stationary else 2
        self.nets: Any = nn.ModuleList(nn.ModuleList(kaiming_linear(size, size) for _ in range(3)) for _ in range(nets))
        self.directions = kaiming_linear(size, size) if copula != "none" else None
        self.copula_strength = nn.Parameter(torch.empty(size)) if copula == "gaussian" else None
        self.log_factor = nn.Parameter(torch.empty(num_heads))
        self.register_buffer("evaluation_noise", torch.empty(2, num_heads, num_eval_samples * self.pairs, size))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Start at the prior, with normal frequencies of the start's variance; draw the noise of evaluation."""
        for layer in (self.mean, self.log_deviation):
            init.zeros_(layer.weight)
            init.zeros_(layer.bias)
        if self.copula_strength is not None:
            init.zeros_(self.copula_strength)
        for net in self.nets:
            for layer in net:
                init.eye_(layer.weight)
                init.zeros_(layer.bias)
        if self.log_factor.is_meta:
            return
        for net in self.nets[1:]:
            weight = net[-1].weight
            init.copy_(weight, weight + APART / math.sqrt(weight.size(0)) * torch.randn_like(weight))
        init.copy_(self.evaluation_noise, quasi_normal(self.evaluation_noise.shape, self.noise_seed))
        z = self.prior_scale * self.evaluation_noise.to(torch.promote_types(self.evaluation_noise.dtype, torch.float32))
        drawn = torch.stack([odd_network(z, net) for net in self.nets])
        spread = drawn.square().mean(dim=(0, 1, 3, 4))  # of each head
        init.copy_(self.log_factor, 0.5 * (math.log(self.start_variance) - spread.clamp(min=1e-30).log()))

    def forward(self, summary: torch.Tensor, noise: torch.Tensor | None = None) -> Frequencies:
        """Return frequencies, drawn anew in training.

        Args:
            summary: m, (B, h, n, 2 d) float32 or wider, of each example (n = 1) or of each position.
            noise: e+ and e- of `draw_noise`, shared by calls that belong together; None: drawn here.
        """
        u = F.leaky_relu(map_in_type(self.summary, summary), SLOPE)
        mean = map_in_type(self.mean, u)
        log_deviation = (map_in_type(self.log_deviation, u) + math.log(self.prior_scale)).clamp(*LOG_DEVIATIONS)
        noise = self.draw_noise(summary) if noise is None else noise  # (2, B or 1, h, 1, K, d)
        factor, copula_term = None, None
        if self.directions is not None:
            strength = None if self.copula_strength is None else self.copula_strength.to(u.dtype)
            factor = copula_factor(map_in_type(self.directions, u).tanh(), strength)
            if self.copula == "gaussian":
                noise = torch.stack([join_heads(factor, each) for each in noise])
            else:
                scales = factor.sum(dim=-1).permute(0, 3, 1, 2).unsqueeze(-2)  # (B, h, n, 1, d)
                noise = (scales * noise).clamp(-LARGEST_DRAW, LARGEST_DRAW)
                uniform = torch.special.ndtr(noise)
                copula_term = -(uniform * (uniform + 1e-5).log()).mean(dim=(0, 4)).sum(dim=(1, 3))
                factor = None
        spread = log_deviation.exp().unsqueeze(-2) * noise
        z = torch.cat([mean.unsqueeze(-2) + spread[0], -mean.unsqueeze(-2) + spread[1]], dim=-2)
        factors = self.log_factor.to(z.dtype).exp().view(-1, 1, 1, 1)
        frequencies = [factors * odd_network(z, net) for net in self.nets]
        return Frequencies(
            first=frequencies[0],
            second=frequencies[1] if len(frequencies) > 1 else None,
            divergence=frequency_divergence(mean, log_deviation, self.prior_scale, factor),
            copula_term=copula_term,
        )

    def draw_noise(self, summary: torch.Tensor) -> torch.Tensor:
        """Return e+ and e-, (2, B, h, 1, K, d) in training, (2, 1, h, 1, K, d) in evaluation."""
        if not self.training:
            return self.evaluation_noise.to(summary.dtype)[:, None, :, None]
        heads, size = summary.size(1), summary.size(-1) // 2
        shape = (2, summary.size(0), heads, 1, self.pairs, size)
        return torch.randn(shape, dtype=summary.dtype, device=summary.device)


def quasi_normal(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    """Return fixed noise that covers the normal distribution evenly: quantiles of scrambled Sobol points.

    Args:
        shape: (2, h, K, d): K points of 2 d dimensions for each head.
        seed: of the scrambling; heads have their own.
    """
    halves, heads, number, size = shape
    engine: Any = torch.quasirandom.SobolEngine
    points = [engine(halves * size, scramble=True, seed=seed * heads + head).draw(number) for head in range(heads)]
    fractions = torch.stack(points).clamp(1 - LARGEST_FRACTION, LARGEST_FRACTION).double()
    quantiles: torch.Tensor = torch.special.ndtri(fractions).float().unflatten(-1, (halves, size))
    return quantiles.permute(2, 0, 1, 3).contiguous()
