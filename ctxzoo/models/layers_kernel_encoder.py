"""Attention by kernels, given or learned: softmax of the logarithm of a kernel plus the importance of the keys.

A learned kernel has frequencies, which are parameters, or are drawn from a density that networks give for each example
(IKA, IKAN, MIKAN).
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_encoder import (
    Attention,
    AttentionAux,
    AttentionState,
    DotAttention,
    concatenate_past,
    make_kv_cache,
    select_indices,
)
from .layers_linear import make_linear
from .ops_encoder import (
    check_importance_p_norm,
    fused_attention,
    make_visibility_mask,
    rbf_log_kernel,
    softmax_attention,
    squared_norm,
)
from .ops_execution import call_with_recomputation, disable_autocast
from .ops_inputs import to_float32_or_wider
from .ops_kernel_encoder import (
    SLOPE,
    apply_linear_in_input_dtype,
    apply_odd_network,
    copula_factor,
    correlate_noise_of_heads,
    frequency_features,
    frequency_kl_divergence,
    log_squared_product,
    squared_product_attention,
)

PRIOR_SCALE = 0.1  # s0, standard deviation of the prior of the noise that frequencies are made of
POSITIONS = 64  # of a causal layer, whose frequencies are in memory at a time
NUM_FEATURES = 64  # M of a learned kernel, as in the authors' code
LOG_DEVIATIONS = (-10.0, 5.0)  # bounds of the logarithm of a standard deviation
APART = 0.1  # how far the two frequencies of a pair start from each other, in their own standard deviations
LARGEST_FRACTION = 1 - 2.0**-20  # of a quasi-random point, whose normal quantile is finite


def kaiming_linear(in_features: int, out_features: int) -> nn.Linear:
    """Return a linear layer with the uniform start of He et al. (2015) and a bias of 0."""
    return make_linear(in_features, out_features, partial(init.kaiming_uniform_, a=SLOPE))


@dataclass
class Frequencies:
    """Frequencies of a kernel, and what drawing them costs.

    Attributes:
        first: (B, h, n, M, d) first frequencies w1 of the kernel.
        second: (B, h, n, M, d) second frequencies w2 of the kernel.
        divergence: (B, n) divergence of the frequencies' density from the prior, in nats.
    """

    first: torch.Tensor
    second: torch.Tensor
    divergence: torch.Tensor


class SpectralDensity(nn.Module):
    """The density of the frequencies of an example, given by networks that the heads share, and draws of it.

    u = lrelu(m W1 + b1), mu = u W2 + b2, log std = u W3 + b3 + log s0; noise z+ = mu + std e+ and z- = -mu + std e-,
    M / 2 of each, which makes the density even, as a real kernel needs; w = c_h sign(z) net(|z|) with a learned
    positive factor c_h of each head. In evaluation e is a quasi-random sample that is saved with the model.

    W2, W3 and the strength of the copula start at 0, and the networks at the identity, those of w2 a little
    beside it: then w is normal with its intended variance, the kernel that of `DirectKernel` at its start, and the
    divergence from the prior exactly 0. The copula has its own strength, a number of each dimension by which the
    products of the heads are multiplied: with C at 0 instead t would be 0, and at t = 0 the gradient of t t' is 0 too.

    Args:
        num_heads: Number of heads h.
        head_size: Width d of a head.
        num_features: Number M of frequencies, even.
        start_variance: Mean of the squared frequencies at the start of training.
        copula: Whether the heads' noise is joined by a Gaussian copula (MIKAN); otherwise it is independent.
        noise_seed: Seed of the noise at evaluation.

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
        copula: bool = False,
        noise_seed: int = 0,
    ) -> None:
        super().__init__()
        if num_features < 2 or num_features % 2:
            raise ValueError(
                f"num_features must be even, at least 2: half of the frequencies mirrors the other; got {num_features}"
            )
        self.pairs = num_features // 2
        self.start_variance = start_variance
        self.noise_seed = noise_seed
        size = head_size
        self.summary = kaiming_linear(2 * size, size)
        self.mean = kaiming_linear(size, size)
        self.log_deviation = kaiming_linear(size, size)
        # W4, W5 and W6 of w1, and those of w2.
        self.nets: Any = nn.ModuleList(nn.ModuleList(kaiming_linear(size, size) for _ in range(3)) for _ in range(2))
        self.directions = kaiming_linear(size, size) if copula else None
        self.copula_strength = nn.Parameter(torch.empty(size)) if copula else None
        self.log_factor = nn.Parameter(torch.empty(num_heads))
        self.register_buffer("evaluation_noise", torch.empty(2, num_heads, self.pairs, size))
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
        # On the meta device there is nothing to draw or to measure.
        if self.log_factor.is_meta:
            return
        for net in self.nets[1:]:
            weight = net[-1].weight
            init.copy_(weight, weight + APART / math.sqrt(weight.size(0)) * torch.randn_like(weight))
        self.draw_evaluation_noise()

    @torch.no_grad()
    def draw_evaluation_noise(self) -> None:
        """Draw the noise of evaluation from `noise_seed`, and set the factors that give it the start's variance."""
        init.copy_(self.evaluation_noise, quasi_random_normal(self.evaluation_noise.shape, self.noise_seed))
        z = PRIOR_SCALE * to_float32_or_wider(self.evaluation_noise)
        drawn = torch.stack([apply_odd_network(z, net) for net in self.nets])  # (2, 2, h, K, d): networks, signs
        spread = drawn.square().mean(dim=(0, 1, 3, 4))  # of each head
        # Half of the logarithm, since a factor of frequencies is squared in their variance.
        init.copy_(self.log_factor, 0.5 * (math.log(self.start_variance) - spread.clamp(min=1e-30).log()))

    def forward(self, summary: torch.Tensor, noise: torch.Tensor | None = None) -> Frequencies:
        """Return frequencies of the learned kernel, in training drawn anew, and their divergence from the prior.

        Args:
            summary: (B, h, n, 2 d) summaries m, float32 or wider, one for each example (n = 1) or for each position.
            noise: Noise E+ and e- from `draw_noise`, to be shared by several calls; None: drawn in this call.
        """
        u = F.leaky_relu(apply_linear_in_input_dtype(self.summary, summary), SLOPE)  # (B, h, n, d)
        mean = apply_linear_in_input_dtype(self.mean, u)
        log_deviation = (apply_linear_in_input_dtype(self.log_deviation, u) + math.log(PRIOR_SCALE)).clamp(
            *LOG_DEVIATIONS
        )
        noise = self.draw_noise(summary) if noise is None else noise  # (2, B or 1, h, 1, K, d)
        factor = None
        if self.directions is not None and self.copula_strength is not None:
            directions = apply_linear_in_input_dtype(self.directions, u).tanh()
            factor = copula_factor(directions, self.copula_strength.to(u.dtype))  # (B, n, d, h, h)
            noise = torch.stack([correlate_noise_of_heads(factor, each) for each in noise])  # (2, B, h, n, K, d)
        spread = log_deviation.exp().unsqueeze(-2) * noise
        # The mean with both signs: a density that is even in z.
        z = torch.cat([mean.unsqueeze(-2) + spread[0], -mean.unsqueeze(-2) + spread[1]], dim=-2)  # (B, h, n, M, d)
        factors = self.log_factor.to(z.dtype).exp().view(-1, 1, 1, 1)  # (h, 1, 1, 1)
        first, second = (factors * apply_odd_network(z, net) for net in self.nets)
        divergence = frequency_kl_divergence(mean, log_deviation, PRIOR_SCALE, factor)
        return Frequencies(first=first, second=second, divergence=divergence)

    def draw_noise(self, summary: torch.Tensor) -> torch.Tensor:
        """Return noise e+ and e- of frequencies, (2, B, h, 1, K, d) in training, (2, 1, h, 1, K, d) in evaluation."""
        if not self.training:
            return self.evaluation_noise.to(summary.dtype)[:, None, :, None]
        heads, size = summary.size(1), summary.size(-1) // 2
        shape = (2, summary.size(0), heads, 1, self.pairs, size)
        return torch.randn(shape, dtype=summary.dtype, device=summary.device)


def quasi_random_normal(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    """Return fixed noise that covers the normal distribution evenly: quantiles of scrambled Sobol points.

    Args:
        shape: Shape (2, h, K, d) of the result: K points of 2 d dimensions for each head.
        seed: Seed of the scrambling of the sequence, another one for each head.
    """
    halves, heads, number, size = shape
    engine: Any = torch.quasirandom.SobolEngine
    points = [engine(halves * size, scramble=True, seed=seed * heads + head).draw(number) for head in range(heads)]
    fractions = torch.stack(points).clamp(1 - LARGEST_FRACTION, LARGEST_FRACTION).double()  # (h, K, 2 d)
    quantiles: torch.Tensor = torch.special.ndtri(fractions).float().unflatten(-1, (halves, size))
    return quantiles.permute(2, 0, 1, 3).contiguous()  # (2, h, K, d)


class Kernel(nn.Module):
    """Similarity of queries and keys."""

    def forward(self, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of the kernel, (B, h, queries, keys), of (B, h, queries, d) and (B, h, keys, d)."""
        raise NotImplementedError(f"{type(self).__name__} must define forward(query, key)")

    def attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        importance: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        causal: bool,
    ) -> torch.Tensor | None:
        """Return the output of attention by a way that forms no table of all pairs, or None if this kernel has none.

        Args:
            importance: (B, h, keys) importance of the keys in nats.
            query, key, value, mask, causal: Queries, keys, values, mask and causality as in `Attention.forward`;
                queries and keys in float32 or wider.
        """
        return None


class RbfKernel(Kernel):
    """exp(-||q - k||^2 / (2 s)).

    Args:
        scale: Scale s, half the divisor of the squared distance of query and key.
    """

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of the kernel; see `Kernel.forward`."""
        return rbf_log_kernel(query, key, self.scale)

    def attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        importance: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        causal: bool,
    ) -> torch.Tensor:
        """Return the output of attention by torch's fused kernel, with a term of each key added to dot products.

        See `Kernel.attend` for the arguments.
        """
        # Dot products have scores of q.k / sqrt(d).
        factor = math.sqrt(query.size(-1)) / self.scale
        bias = importance - squared_norm(key, 2.0) / (2 * self.scale)
        return fused_attention(query * factor, key, value, mask, causal, key_bias=bias)


class DirectKernel(Kernel):
    """The square of a kernel whose frequencies are parameters (IKAN-direct).

    They start as a draw by which its mean over draws is the RBF kernel, so that training starts near dot products.

    Args:
        num_heads: Number of heads h.
        head_size: Width d of a head.
        num_features: Number M of frequencies.
        scale: Scale s, half the divisor of the squared distance of query and key.
    """

    def __init__(self, num_heads: int, head_size: int, num_features: int, scale: float) -> None:
        super().__init__()
        self.deviation = math.sqrt(initial_frequency_variance(scale))
        self.first = nn.Parameter(torch.empty(num_heads, num_features, head_size))
        self.second = nn.Parameter(torch.empty(num_heads, num_features, head_size))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        init.normal_(self.first, std=self.deviation)
        if not self.second.is_meta:
            noise = torch.randn(self.second.shape, dtype=self.second.dtype, device=self.second.device)
            init.copy_(self.second, self.first + APART * self.deviation * noise)

    def forward(self, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of the kernel; see `Kernel.forward`."""
        return log_squared_product(self._compute_features(query), self._compute_features(key))

    def attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        importance: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        causal: bool,
    ) -> torch.Tensor | None:
        """Return the output of attention from sums of squared products, without a table of pairs; None if causal.

        See `Kernel.attend` for the arguments.
        """
        # Sums of products run over all keys, later ones too.
        if causal:
            return None
        return squared_product_attention(
            self._compute_features(query), self._compute_features(key), importance, value, mask
        )

    def _compute_features(self, x: torch.Tensor) -> torch.Tensor:
        """Return the features of queries or keys `x` under the learned frequencies."""
        return frequency_features(x, self.first.to(x.dtype), self.second.to(x.dtype))


def initial_frequency_variance(scale: float) -> float:
    """Return the variance 1 / (8 pi^2 s) of frequencies with which the mean of r^2 is exp(-||q - k||^2 / (2 s))."""
    return 1 / (8 * math.pi**2 * scale)


class KernelAttention(Attention):
    """Attention by any kernel and the L^p importance of the keys: softmax(log kappa(q, k) + ||k||_p^2 / (2 s)).

    The query's own magnitude is the same for all keys, and cancels. With the kernel `RbfKernel` and p = 2 it is
    `DotAttention`.

    Args:
        kernel: Kernel that compares queries and keys.
        scale: Scale s of the importance.
        p_norm: Exponent p of the importance, above 0; below 1 the importance grows so fast with d that one key takes
            all the weight.
        dropout: Dropout rate on the attention weights.
        memory_length: Largest number of keys in the cached state; 0: no limit.
        gated_heads: Number of heads with a gate g, 0 at the start, between kernels: the log similarity is (1 - g) log
            rbf + g log kappa, which with p = 2 starts as dot products exactly; 0: no gates.

    Raises:
        ValueError: p_norm of 0, below, or infinite.
    """

    def __init__(
        self,
        kernel: nn.Module,
        scale: float,
        p_norm: float = 2.0,
        *,
        dropout: float = 0.0,
        memory_length: int = 0,
        gated_heads: int = 0,
    ) -> None:
        super().__init__()
        check_importance_p_norm(p_norm)
        self.gate = nn.Parameter(torch.empty(gated_heads)) if gated_heads else None
        self.kernel: Any = kernel
        self.scale = scale
        self.p_norm = float(p_norm)
        self.dropout = dropout
        self.memory_length = memory_length
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.gate is not None:
            init.zeros_(self.gate)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
        causal: bool = False,
        *,
        hidden_states: torch.Tensor | None = None,
        score_bias: torch.Tensor | None = None,
        state: AttentionState | None = None,
        use_cache: bool = False,
        output_attentions: bool = False,
        query_indices: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, AttentionAux]:
        key, value, mask = concatenate_past(state, key, value, mask)
        query = select_indices(query, query_indices, 2)
        with disable_autocast(query.device):
            wide_query, wide_key = to_float32_or_wider(query), to_float32_or_wider(key)
            importance = self.log_importance(wide_key)
            output, aux = None, AttentionAux()
            # The own way of a kernel forms no table of pairs: there is nothing to drop, to gate or to add to.
            if score_bias is None and not self.drops_weights and self.gate is None:
                output = self.kernel.attend(wide_query, wide_key, importance, value, mask, causal)
            if output is None or output_attentions:
                log_similarity = self.mix_with_rbf(self.kernel(wide_query, wide_key), wide_query, wide_key)
                visible = make_visibility_mask(mask, query.size(2), key.size(2), causal, query.device)
                listed, aux = self.attend_with_importance(log_similarity, importance, value, visible, score_bias)
                # Weights on request do not change the output, not even its rounding.
                output = listed if output is None else output
        if not output_attentions:
            aux = AttentionAux()
        if use_cache:
            aux.state = make_kv_cache(key, value, mask, self.memory_length)
        return output, aux

    @property
    def drops_weights(self) -> bool:
        """Whether dropout is applied to attention weights."""
        return self.training and self.dropout > 0

    def mix_with_rbf(self, log_kernel: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        """Return (1 - g) log rbf + g log kappa, (B, h, queries, keys); log kappa itself where there are no gates."""
        if self.gate is None:
            return log_kernel
        start = rbf_log_kernel(query, key, self.scale)
        return torch.lerp(start, log_kernel, self.gate.to(start.dtype).view(-1, 1, 1))

    def log_importance(self, x: torch.Tensor) -> torch.Tensor:
        """Return the log-importance ||x||_p^2 / (2 s) in nats, (B, h, n), of x (B, h, n, d)."""
        return squared_norm(x, self.p_norm) / (2 * self.scale)

    def attend_with_importance(
        self,
        log_similarity: torch.Tensor,
        importance: torch.Tensor,
        value: torch.Tensor,
        visible: torch.Tensor,
        score_bias: torch.Tensor | None,
    ) -> tuple[torch.Tensor, AttentionAux]:
        """Return the output (B, h, queries, dv) of a softmax of similarity and importance, with all three in the aux.

        Args:
            log_similarity: (B, h, queries, keys) logarithm of the kernel.
            importance: (B, h, keys) importance of the keys in nats.
            value, visible, score_bias: Values as in `softmax_attention`, booleans of the keys that each query sees,
                and a bias of the scores as in `Attention.forward`.
        """
        energy = log_similarity + importance.unsqueeze(-2)  # (B, h, queries, keys)
        if score_bias is not None:
            energy = energy + score_bias
        output, weights = softmax_attention(energy, value, visible, self.dropout, self.training)
        return output, AttentionAux(weights=weights, similarity=log_similarity.exp(), importance=importance)


class ImplicitKernelAttention(KernelAttention):
    """Attention by a kernel whose frequencies are drawn from a learned density of the example (IKA, IKAN, MIKAN).

    The density follows from the mean query and the mean key of the real positions. A causal layer must not read ahead:
    there each position has a density of its own, which follows from the means up to it, and the kernel of two positions
    is the product of the features that each of them has. Their noise is the same, so that neighbours have nearly the
    same frequencies.

    Args:
        density: Module that computes frequencies from a summary of the example.
        importance: Further arguments of `KernelAttention`.
    """

    def __init__(self, density: SpectralDensity, scale: float, p_norm: float = 2.0, **importance: Any) -> None:
        super().__init__(density, scale, p_norm, **importance)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
        causal: bool = False,
        *,
        hidden_states: torch.Tensor | None = None,
        score_bias: torch.Tensor | None = None,
        state: AttentionState | None = None,
        use_cache: bool = False,
        output_attentions: bool = False,
        query_indices: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, AttentionAux]:
        if causal and query.size(2) != key.size(2):
            raise ValueError(
                f"{query.size(2)} queries and {key.size(2)} keys: a causal summary takes both of each position; a "
                "cache of keys alone does not serve (use_cache=False, or kernel='direct')"
            )
        if mask is None:
            mask = torch.ones(key.size(0), key.size(2), dtype=torch.bool, device=key.device)
        # The last two of a state are what `running_mean_query_and_key` goes on from.
        *past, sums, count = (None, None) if state is None else state
        with disable_autocast(query.device):
            wide_query, wide_key = to_float32_or_wider(query), to_float32_or_wider(key)
            if causal:
                summary, sums, count = running_mean_query_and_key(
                    wide_query, wide_key, mask, sums, count
                )  # (B, h, n, 2 d)
                query_features, features, divergence = self._compute_position_features(wide_query, wide_key, summary)
            else:
                # The mask is that of the keys; where there are as many queries it is theirs too.
                query_mask = mask if query.size(2) == key.size(2) else None
                summary = mean_query_and_key(wide_query, wide_key, query_mask, mask)  # (B, h, 1, 2 d)
                # Only now, since the summary is of all queries.
                wide_query = select_indices(wide_query, query_indices, 2)
                query_features, features, divergence = self._compute_features(wide_query, wide_key, summary, None)
            importance = self.log_importance(wide_key)
            divergence = _average_over_positions(divergence, mask if causal else None)
            # All with the keys along the same dimension.
            per_key: tuple[torch.Tensor, ...] = (features, importance, value, mask.unsqueeze(1))
            if self.gate is not None:
                per_key = (*per_key, wide_key)
            if state is not None:
                # What was read before stands in front, (B, h or 1, keys, .).
                per_key = tuple(torch.cat(pair, dim=2) for pair in zip(past, per_key, strict=True))
            features, importance, value, key_mask, *extra_keys = per_key
            wide_key = extra_keys[0] if extra_keys else wide_key
            mask = key_mask.squeeze(1)
            output, aux = None, AttentionAux()
            if not causal and score_bias is None and not self.drops_weights and self.gate is None:
                output = squared_product_attention(query_features, features, importance, value, mask)
            if output is None or output_attentions:
                log_kernel = log_squared_product(query_features, features)
                log_similarity = self.mix_with_rbf(log_kernel, wide_query, wide_key)
                visible = make_visibility_mask(mask, wide_query.size(2), features.size(2), causal, query.device)
                pairwise_output, aux = self.attend_with_importance(
                    log_similarity, importance, value, visible, score_bias
                )
                output = pairwise_output if output is None else output
        if not output_attentions:
            aux = AttentionAux()
        aux.divergence = divergence
        if use_cache:
            assert sums is not None
            assert count is not None
            last = slice(-self.memory_length, None) if self.memory_length else slice(None)
            aux.state = (*(x[:, :, last] for x in per_key), sums, count)
        return output, aux

    def _compute_features(
        self, query: torch.Tensor, key: torch.Tensor, summary: torch.Tensor, noise: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return features of queries and keys, (B, h, n, 2 M), and the divergence (B, n)."""
        frequencies = self.kernel(summary, noise)
        pair = (frequencies.first, frequencies.second)
        if summary.size(2) == 1:  # of the example, not of its positions
            pair = (frequencies.first.squeeze(2), frequencies.second.squeeze(2))  # (B, h, M, d)
        return frequency_features(query, *pair), frequency_features(key, *pair), frequencies.divergence

    def _compute_position_features(
        self, query: torch.Tensor, key: torch.Tensor, summary: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the results of `_compute_features` for positions with summaries of their own, (B, h, n, 2 d).

        A position has M d frequencies of each head. They are made for `POSITIONS` at a time, and made again in the
        backward pass, so that memory holds those of so many positions alone.
        """
        # Drawn once: all parts have the frequencies of the same noise.
        noise, length = self.kernel.draw_noise(summary), query.size(2)
        if torch.compiler.is_compiling() or length <= POSITIONS:
            return self._compute_features(query, key, summary, noise)
        parts = []
        for start in range(0, length, POSITIONS):
            part = slice(start, start + POSITIONS)
            arguments = (query[:, :, part], key[:, :, part], summary[:, :, part], noise)
            parts.append(call_with_recomputation(self._compute_features, *arguments))
        query_features, key_features, divergence = zip(*parts, strict=True)
        return torch.cat(query_features, dim=2), torch.cat(key_features, dim=2), torch.cat(divergence, dim=1)


def mean_query_and_key(
    query: torch.Tensor, key: torch.Tensor, query_mask: torch.Tensor | None, key_mask: torch.Tensor
) -> torch.Tensor:
    """Return the mean query and mean key of each head side by side, (B, h, 1, 2 d); 0 without positions.

    Args:
        query, key: Queries (B, h, queries, d) and keys (B, h, keys, d).
        query_mask, key_mask: Boolean (B, queries) and (B, keys), True where a query or key counts; None: all count.
    """
    means = []
    for x, mask in ((query, query_mask), (key, key_mask)):
        if mask is None:
            means.append(x.mean(dim=2, keepdim=True))
            continue
        weights = mask.to(x.dtype) / mask.sum(dim=1, keepdim=True).clamp(min=1)
        means.append(weights[:, None, None, :] @ x)  # (B, h, 1, d)
    return torch.cat(means, dim=-1)


def running_mean_query_and_key(
    query: torch.Tensor,
    key: torch.Tensor,
    mask: torch.Tensor,
    sums: torch.Tensor | None,
    count: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the means of queries and keys up to each position, its own included, side by side.

    Args:
        query, key: Queries and keys, (B, h, n, d) each.
        mask: Boolean (B, n), True where a position counts.
        sums: (B, h, 2 d) sums over the earlier positions; None: there are none.
        count: (B,) numbers of these earlier positions.

    Returns:
        (B, h, n, 2 d); and sums and count behind the last position.
    """
    vectors = torch.cat([query, key], dim=-1) * mask[:, None, :, None].to(query.dtype)  # (B, h, n, 2 d)
    counts = mask.cumsum(dim=1)
    if sums is not None and count is not None:
        counts = counts + count.unsqueeze(1)
        # The sums before stand in front as one more position, whose own total is then left out.
        vectors = torch.cat([sums.unsqueeze(2), vectors], dim=2)  # (B, h, 1 + n, 2 d)
    totals = vectors.cumsum(dim=2)
    if sums is not None:
        totals = totals[:, :, 1:]
    means = totals / counts.clamp(min=1)[:, None, :, None].to(totals.dtype)
    return means, vectors.sum(dim=2), mask.sum(dim=1) if count is None else mask.sum(dim=1) + count


def _average_over_positions(values: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Return the mean (B,) of values (B, n) where the mask (B, n) is True, 0 where it is nowhere; None: n is 1."""
    if mask is None:
        return values.squeeze(1)
    return (values * mask.to(values.dtype)).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def build_kernel_attention(config: Any, layer_index: int) -> Attention:
    """Return the attention of a layer, counted from 0, as the fields of a `KernelEncoderConfig` describe it."""
    if config.attention == "dot":
        return DotAttention(config.attention_dropout, config.memory_length)
    sizes = (config.num_heads, config.head_size, config.num_features or NUM_FEATURES)
    scale = math.sqrt(config.head_size)
    importance = {
        "scale": scale,
        "p_norm": 2.0 if config.attention == "ika" else config.p_norm,
        "dropout": config.attention_dropout,
        "memory_length": config.memory_length,
        "gated_heads": config.num_heads if config.kernel_gate else 0,
    }
    if config.attention == "rbf":
        return KernelAttention(RbfKernel(scale), **importance)
    if config.kernel == "direct":
        return KernelAttention(DirectKernel(*sizes, scale), **importance)
    density = SpectralDensity(
        *sizes,
        start_variance=initial_frequency_variance(scale),
        copula=config.attention == "mikan",
        noise_seed=layer_index,
    )
    return ImplicitKernelAttention(density, **importance)


class RowContext(nn.Module):
    """Scaled features of rows, which are saved with the weights; 0 until they are given.

    Args:
        number: Number of training rows that are stored.
        size: Number I of features of a row.
    """

    rows: torch.Tensor

    def __init__(self, number: int, size: int) -> None:
        super().__init__()
        self.register_buffer("rows", torch.empty(number, size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.zeros_(self.rows)


class RowScaling(nn.Module):
    """Linear maps of the features and of the target of a regression: scaled = (value - offset) / scale.

    The numbers are those of the training rows. A model in half precision keeps them whole: they are saved as the 64
    bits of each, which no conversion of a model's numbers touches.

    Args:
        size: Number I of features.
        start: Initial offsets and scales, (2, I + 1), those of the target last; None: 0 and 1.
    """

    bits: torch.Tensor

    def __init__(self, size: int, start: list[list[float]] | None = None) -> None:
        super().__init__()
        self.begin = start
        self.register_buffer("bits", torch.empty(2, size + 1, dtype=torch.int64))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.bits.is_meta:
            return
        size = self.bits.size(1)
        values = [[0.0] * size, [1.0] * size] if self.begin is None else self.begin
        # The bits of the numbers go into the buffer, not the numbers as integers.
        init.copy_(self.bits, torch.tensor(values, dtype=torch.float64).view(torch.int64).to(self.bits.device))

    def set_offsets_and_scales(self, offsets: list[float], scales: list[float]) -> None:
        """Set the offsets and scales of the features and, as the last entry, of the target.

        Raises:
            ValueError: another number of them, or a scale that is not above 0.
        """
        values = torch.tensor([offsets, scales], dtype=torch.float64)
        if values.shape != self.bits.shape:
            raise ValueError(f"{values.size(1)} offsets and scales; expected {self.bits.size(1)}, the target's last")
        if not bool((values[1] > 0).all()):
            raise ValueError(f"scales of rows must be above 0, got {float(values[1].min())}")
        self.bits.copy_(values.view(torch.int64))

    @property
    def offsets_and_scales(self) -> torch.Tensor:
        """Offsets and scales, (2, I + 1) float64, those of the target last."""
        return self.bits.view(torch.float64)

    def scale_features(self, rows: torch.Tensor) -> torch.Tensor:
        """Scale the features of rows (n, I), in float64."""
        offsets, scales = self.offsets_and_scales[:, :-1]  # (I,) each
        scaled: torch.Tensor = (rows.to(offsets.device).double() - offsets) / scales
        return scaled

    def unscale_target(self, scaled_target: torch.Tensor) -> torch.Tensor:
        """Return scaled predictions of any shape in the unit of the target, in the same type."""
        offset, scale = self.offsets_and_scales[:, -1].tolist()
        predicted: torch.Tensor = scaled_target * scale + offset
        return predicted
