"""Attention whose weights are a softmax of the logarithm of a kernel plus the importance of the keys."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import nn
from transformers import initialization as init

from .layers_context_encoder_attention import Attention, AttentionAux, AttentionState, chosen, growing_state, with_past
from .layers_context_encoder_density import APART, SpectralDensity
from .ops_checkpointing import call_recomputed
from .ops_context_encoder_density import frequency_features, log_squared_product
from .ops_context_encoder_kernels import (
    at_least_single,
    attend,
    check_importance,
    expsin_log_kernel,
    linear_log_kernel,
    rbf_log_kernel,
    squared_norm,
    visible_keys,
)
from .ops_context_encoder_pairwise import fused_attention, squared_product_attention
from .ops_dropout import dropout
from .ops_tracing import without_autocast

POSITIONS = 64  # of a causal layer, whose frequencies are in memory at a time
NUM_FEATURES = 64  # M of a learned kernel, as in the authors' code


class DotAttention(Attention):
    """Scaled dot products, softmax(q.k / sqrt(d)) (Vaswani et al. 2017).

    Its similarity is the RBF kernel of query and key, and its importance the squared length of the key, of which the
    dot product consists: q.k / sqrt(d) = -||q - k||^2 / (2 sqrt d) + (||q||^2 + ||k||^2) / (2 sqrt d).

    Args:
        dropout: rate of dropout on the weights.
        memory_length: keys that a state holds at most; 0: all.
    """

    def __init__(self, dropout: float = 0.0, memory_length: int = 0) -> None:
        super().__init__()
        self.dropout = dropout
        self.memory_length = memory_length

    @classmethod
    def from_config(cls, config: Any, layer_index: int) -> "DotAttention":
        return cls(config.attention_dropout, config.memory_length)

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
        places: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, AttentionAux]:
        key, value, mask = with_past(state, key, value, mask)
        query = chosen(query, places, 2)
        scale = math.sqrt(query.size(-1))
        with without_autocast(query.device):
            wide_query, wide_key = at_least_single(query), at_least_single(key)
            output = None
            if score_bias is None and not (self.training and self.dropout):
                output = fused_attention(wide_query, wide_key, value, mask, causal)
            if output is None or output_attentions:
                energy = wide_query @ wide_key.transpose(-1, -2) / scale
                if score_bias is not None:
                    energy = energy + score_bias
                visible = visible_keys(mask, query.size(2), key.size(2), causal, query.device)
                listed, weights = attend(energy, value, visible, self.dropout, self.training)
                # Weights on request do not change the output, not even its rounding.
                output = listed if output is None else output
        aux = AttentionAux(state=growing_state(key, value, mask, self.memory_length) if use_cache else None)
        if output_attentions:
            aux.weights = weights
            aux.similarity = rbf_log_kernel(wide_query, wide_key, scale).exp()
            aux.importance = squared_norm(wide_key, 2.0) / (2 * scale)
        return output, aux


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
        """Return the output of attention without a table of all pairs; None where the kernel has no such way.

        Args:
            importance: (B, h, keys) in nats.
            query, key, value, mask, causal: see `Attention.forward`; query and key in float32 or wider.
        """
        return None


class RbfKernel(Kernel):
    """exp(-||q - k||^2 / (2 s)).

    Args:
        scale: s.
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
        """Return the output of dot products, whose share of the key's importance is taken back; see `Kernel.attend`."""
        # Dot products have scores of q.k / sqrt(d).
        factor = math.sqrt(query.size(-1)) / self.scale
        bias = importance - squared_norm(key, 2.0) / (2 * self.scale)
        return fused_attention(query * factor, key, value, mask, causal, key_bias=bias)


class LinearKernel(Kernel):
    """The linear kernel (1 + cos(q, k)) / 2."""

    def forward(self, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of the kernel; see `Kernel.forward`."""
        return linear_log_kernel(query, key)


class ExpsinKernel(Kernel):
    """exp(-(2 / l^2) mean_d sin^2(pi (q_d - k_d) / P)), a product of periodic kernels.

    Args:
        period: P.
        length: l.
    """

    def __init__(self, period: float, length: float) -> None:
        super().__init__()
        self.period = period
        self.length = length

    def forward(self, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of the kernel; see `Kernel.forward`."""
        return expsin_log_kernel(query, key, self.period, self.length)


class DirectKernel(Kernel):
    """The square of a kernel whose frequencies are parameters (IKAN-direct).

    They start as a draw by which its mean over draws is the RBF kernel, so that training starts near dot products.

    Args:
        num_heads: h.
        head_size: d.
        num_features: M.
        scale: s.
        stationary: the kernel depends on q - k alone: w2 = w1.
    """

    def __init__(self, num_heads: int, head_size: int, num_features: int, scale: float, stationary: bool) -> None:
        super().__init__()
        self.deviation = math.sqrt(start_variance(scale))
        self.first = nn.Parameter(torch.empty(num_heads, num_features, head_size))
        self.second = None if stationary else nn.Parameter(torch.empty(num_heads, num_features, head_size))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        init.normal_(self.first, std=self.deviation)
        if self.second is not None and not self.second.is_meta:
            noise = torch.randn(self.second.shape, dtype=self.second.dtype, device=self.second.device)
            init.copy_(self.second, self.first + APART * self.deviation * noise)

    def forward(self, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of the kernel; see `Kernel.forward`."""
        return log_squared_product(self._features(query), self._features(key))

    def attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        importance: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        causal: bool,
    ) -> torch.Tensor | None:
        """Return the output of sums of squared products; None for causal attention; see `Kernel.attend`."""
        if causal:
            return None
        return squared_product_attention(self._features(query), self._features(key), importance, value, mask)

    def _features(self, x: torch.Tensor) -> torch.Tensor:
        second = None if self.second is None else self.second.to(x.dtype)
        return frequency_features(x, self.first.to(x.dtype), second)


def start_variance(scale: float) -> float:
    """Return the variance 1 / (8 pi^2 s) of frequencies with which the mean of r^2 is exp(-||q - k||^2 / (2 s))."""
    return 1 / (8 * math.pi**2 * scale)


class KernelAttention(Attention):
    """Attention by any kernel and the L^p importance of the keys: softmax(log kappa(q, k) + ||k||_p^2 / (2 s)).

    The query's own magnitude is the same for all keys, and cancels. With the kernel `RbfKernel` and p = 2 it is
    `DotAttention`.

    Args:
        kernel: of queries and keys.
        scale: s, of the importance.
        p_norm: p of the importance, above 0; below 1 it grows so fast with d that one key takes all.
        dropout: rate of dropout on the weights.
        magnitude_dropout: rate of dropout on the importance.
        magnitude_dropout_form: keys: on that of each key; authors: on the matrix of the sums of both magnitudes, by
            which that of the query does not cancel in training.
        memory_length: keys that a state holds at most; 0: all.
        gated_heads: Heads with a gate g of their own, 0 at the start: the logarithm of the similarity is then
            (1 - g) log rbf + g log kappa, which with p = 2 starts as dot products exactly; 0: no gates.

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
        magnitude_dropout: float = 0.0,
        magnitude_dropout_form: str = "keys",
        memory_length: int = 0,
        gated_heads: int = 0,
    ) -> None:
        super().__init__()
        check_importance(p_norm)
        self.gate = nn.Parameter(torch.empty(gated_heads)) if gated_heads else None
        self.kernel: Any = kernel
        self.scale = scale
        self.p_norm = float(p_norm)
        self.dropout = dropout
        self.magnitude_dropout = magnitude_dropout
        self.magnitude_dropout_form = magnitude_dropout_form
        self.memory_length = memory_length
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.gate is not None:
            init.zeros_(self.gate)

    @classmethod
    def from_config(cls, config: Any, layer_index: int) -> Attention:
        """Return attention by the kernel of `config.attention`; where it is drawn, `ImplicitKernelAttention`."""
        sizes = (config.num_heads, config.head_size, config.num_features or NUM_FEATURES)
        scale = math.sqrt(config.head_size)
        if config.magnitude_scale == "authors":
            scale = math.sqrt(scale)
        importance = {
            "scale": scale,
            "p_norm": 2.0 if config.attention == "ika" else config.p_norm,
            "dropout": config.attention_dropout,
            "magnitude_dropout": config.magnitude_dropout,
            "magnitude_dropout_form": config.magnitude_dropout_form,
            "memory_length": config.memory_length,
            "gated_heads": config.num_heads if config.kernel_gate else 0,
        }
        if config.attention == "rbf":
            return KernelAttention(RbfKernel(scale), **importance)
        if config.attention == "linear":
            return KernelAttention(LinearKernel(), **importance)
        if config.attention == "expsin":
            return KernelAttention(ExpsinKernel(config.kernel_period, config.kernel_length), **importance)
        if config.kernel == "direct" and config.attention != "mikan":
            return KernelAttention(DirectKernel(*sizes, scale, config.stationary), **importance)
        density = SpectralDensity(
            *sizes,
            start_variance=start_variance(scale),
            stationary=config.stationary,
            copula=config.copula if config.attention == "mikan" else "none",
            prior_scale=config.prior_scale,
            noise_seed=config.noise_seed + layer_index,
            num_eval_samples=config.num_eval_samples,
        )
        return ImplicitKernelAttention(density, **importance)

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
        places: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, AttentionAux]:
        key, value, mask = with_past(state, key, value, mask)
        query = chosen(query, places, 2)
        with without_autocast(query.device):
            wide_query, wide_key = at_least_single(query), at_least_single(key)
            importance = self.magnitude(wide_key)
            output, aux = None, AttentionAux()
            if score_bias is None and not self.drops and self.gate is None:
                output = self.kernel.attend(wide_query, wide_key, importance, value, mask, causal)
            if output is None or output_attentions:
                log_similarity = self.through_gate(self.kernel(wide_query, wide_key), wide_query, wide_key)
                visible = visible_keys(mask, query.size(2), key.size(2), causal, query.device)
                listed, aux = self.weigh(log_similarity, wide_query, importance, value, visible, score_bias)
                # Weights on request do not change the output, not even its rounding.
                output = listed if output is None else output
        if not output_attentions:
            aux = AttentionAux()
        if use_cache:
            aux.state = growing_state(key, value, mask, self.memory_length)
        return output, aux

    @property
    def drops(self) -> bool:
        """Whether weights or importance are dropped."""
        return self.training and (self.dropout > 0 or self.magnitude_dropout > 0)

    def through_gate(self, log_kernel: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        """Return (1 - g) log rbf + g log kappa, (B, h, queries, keys); log kappa itself where there are no gates."""
        if self.gate is None:
            return log_kernel
        start = rbf_log_kernel(query, key, self.scale)
        return torch.lerp(start, log_kernel, self.gate.to(start.dtype).view(-1, 1, 1))

    def magnitude(self, x: torch.Tensor) -> torch.Tensor:
        """Return ||x||_p^2 / (2 s) in nats, (B, h, n), of x (B, h, n, d)."""
        return squared_norm(x, self.p_norm) / (2 * self.scale)

    def weigh(
        self,
        log_similarity: torch.Tensor,
        query: torch.Tensor,
        importance: torch.Tensor,
        value: torch.Tensor,
        visible: torch.Tensor,
        score_bias: torch.Tensor | None,
    ) -> tuple[torch.Tensor, AttentionAux]:
        """Return the output (B, h, queries, dv) of a softmax of similarity and importance, with all three in the aux.

        Args:
            log_similarity: (B, h, queries, keys).
            query: (B, h, queries, d).
            importance: (B, h, keys).
            value, visible, score_bias: see `attend` and `Attention.forward`.
        """
        magnitudes = importance.unsqueeze(-2)
        if self.training and self.magnitude_dropout:
            if self.magnitude_dropout_form == "authors":
                magnitudes = magnitudes + self.magnitude(query).unsqueeze(-1)
            magnitudes = dropout(magnitudes, self.magnitude_dropout, training=True)
        energy = log_similarity + magnitudes
        if score_bias is not None:
            energy = energy + score_bias
        output, weights = attend(energy, value, visible, self.dropout, self.training)
        return output, AttentionAux(weights=weights, similarity=log_similarity.exp(), importance=importance)


class ImplicitKernelAttention(KernelAttention):
    """Attention by a kernel whose frequencies are drawn from a learned density of the example (IKA, IKAN, MIKAN).

    The density follows from the mean query and the mean key of the real positions. A causal layer must not read ahead:
    there each position has a density of its own, which follows from the means up to it, and the kernel of two positions
    is the product of the features that each of them has. Their noise is the same, so that neighbours have nearly the
    same frequencies.

    Args:
        density: a summary of the example to frequencies.
        importance: the other arguments of `KernelAttention`.
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
        places: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, AttentionAux]:
        if causal and query.size(2) != key.size(2):
            raise ValueError(
                f"{query.size(2)} queries and {key.size(2)} keys: a causal summary takes both of each position; a "
                "cache of keys alone does not serve (use_cache=False, or kernel='direct')"
            )
        if mask is None:
            mask = torch.ones(key.size(0), key.size(2), dtype=torch.bool, device=key.device)
        *of_past, sums, count = (None, None) if state is None else state
        with without_autocast(query.device):
            wide_query, wide_key = at_least_single(query), at_least_single(key)
            if causal:
                summary, sums, count = running_means(wide_query, wide_key, mask, sums, count)
                of_queries, features, divergence, copula_term = self._position_features(wide_query, wide_key, summary)
            else:
                query_mask = mask if query.size(2) == key.size(2) else None
                summary = masked_means(wide_query, wide_key, query_mask, mask)
                wide_query = chosen(wide_query, places, 2)
                of_queries, features, divergence, copula_term = self._features(wide_query, wide_key, summary, None)
            importance = self.magnitude(wide_key)
            divergence = _mean_over_positions(divergence, mask if causal else None)
            if copula_term is not None:
                copula_term = _mean_over_positions(copula_term, mask if causal else None)
            # All with the keys along the same dimension.
            of_keys: tuple[torch.Tensor, ...] = (features, importance, value, mask.unsqueeze(1))
            if self.gate is not None:
                of_keys = (*of_keys, wide_key)
            if state is not None:
                of_keys = tuple(torch.cat(pair, dim=2) for pair in zip(of_past, of_keys, strict=True))
            features, importance, value, seen, *ungated = of_keys
            wide_key = ungated[0] if ungated else wide_key
            mask = seen.squeeze(1)
            output, aux = None, AttentionAux()
            if not causal and score_bias is None and not self.drops and self.gate is None:
                output = squared_product_attention(of_queries, features, importance, value, mask)
            if output is None or output_attentions:
                log_kernel = log_squared_product(of_queries, features)
                log_similarity = self.through_gate(log_kernel, wide_query, wide_key)
                visible = visible_keys(mask, wide_query.size(2), features.size(2), causal, query.device)
                listed, aux = self.weigh(log_similarity, wide_query, importance, value, visible, score_bias)
                output = listed if output is None else output
        if not output_attentions:
            aux = AttentionAux()
        aux.divergence, aux.copula_term = divergence, copula_term
        if use_cache:
            assert sums is not None
            assert count is not None
            last = slice(-self.memory_length, None) if self.memory_length else slice(None)
            aux.state = (*(x[:, :, last] for x in of_keys), sums, count)
        return output, aux

    def _features(
        self, query: torch.Tensor, key: torch.Tensor, summary: torch.Tensor, noise: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return features of queries and keys, (B, h, n, 2 M), the divergence and the copula's term, (B, n)."""
        drawn = self.kernel(summary, noise)
        pair = (drawn.first, drawn.second)
        if summary.size(2) == 1:  # of the example, not of its positions
            pair = (drawn.first.squeeze(2), None if drawn.second is None else drawn.second.squeeze(2))
        of_queries, of_keys = frequency_features(query, *pair), frequency_features(key, *pair)
        return of_queries, of_keys, drawn.divergence, drawn.copula_term

    def _position_features(
        self, query: torch.Tensor, key: torch.Tensor, summary: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return what `_features` does of positions with summaries of their own, (B, h, n, 2 d).

        A position has M d frequencies of each head. They are made for `POSITIONS` at a time, and made again in the
        backward pass, so that memory holds those of so many positions alone.
        """
        noise, number = self.kernel.draw_noise(summary), query.size(2)
        if torch.compiler.is_compiling() or number <= POSITIONS:
            return self._features(query, key, summary, noise)
        parts = []
        for start in range(0, number, POSITIONS):
            part = slice(start, start + POSITIONS)
            of_part = (query[:, :, part], key[:, :, part], summary[:, :, part], noise)
            parts.append(call_recomputed(self._features, *of_part))
        of_queries, of_keys, divergence, copula_term = zip(*parts, strict=True)
        terms = None if copula_term[0] is None else torch.cat(copula_term, dim=1)
        return torch.cat(of_queries, dim=2), torch.cat(of_keys, dim=2), torch.cat(divergence, dim=1), terms


def masked_means(
    query: torch.Tensor, key: torch.Tensor, query_mask: torch.Tensor | None, key_mask: torch.Tensor
) -> torch.Tensor:
    """Return the mean query and the mean key of each head side by side, (B, h, 1, 2 d), 0 where there is none.

    Args:
        query, key: (B, h, queries, d), (B, h, keys, d).
        query_mask, key_mask: boolean (B, queries), (B, keys), True where one counts; None: all do.
    """
    means = []
    for x, mask in ((query, query_mask), (key, key_mask)):
        if mask is None:
            means.append(x.mean(dim=2, keepdim=True))
            continue
        weights = mask.to(x.dtype) / mask.sum(dim=1, keepdim=True).clamp(min=1)
        means.append(weights[:, None, None, :] @ x)
    return torch.cat(means, dim=-1)


def running_means(
    query: torch.Tensor,
    key: torch.Tensor,
    mask: torch.Tensor,
    sums: torch.Tensor | None,
    count: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the means of queries and keys up to each position, its own included, side by side.

    Args:
        query, key: (B, h, n, d).
        mask: boolean (B, n), True where a position counts.
        sums: (B, h, 2 d), of the positions before; None: there are none.
        count: (B,), how many they are.

    Returns:
        (B, h, n, 2 d); and sums and count behind the last position.
    """
    both = torch.cat([query, key], dim=-1) * mask[:, None, :, None].to(query.dtype)
    numbers = mask.cumsum(dim=1)
    if sums is not None and count is not None:
        numbers = numbers + count.unsqueeze(1)
        both = torch.cat([sums.unsqueeze(2), both], dim=2)
    totals = both.cumsum(dim=2)
    if sums is not None:
        totals = totals[:, :, 1:]
    means = totals / numbers.clamp(min=1)[:, None, :, None].to(totals.dtype)
    return means, both.sum(dim=2), mask.sum(dim=1) if count is None else mask.sum(dim=1) + count


def _mean_over_positions(values: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Return the mean (B,) of values (B, n) where the mask (B, n) is True, 0 where it is nowhere; None: n is 1."""
    if mask is None:
        return values.squeeze(1)
    return (values * mask.to(values.dtype)).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


KERNEL_ATTENTIONS: Mapping[str, type[Attention]] = MappingProxyType(
    {
        "dot": DotAttention,
        "rbf": KernelAttention,
        "linear": KernelAttention,
        "expsin": KernelAttention,
        "ika": KernelAttention,
        "ikan": KernelAttention,
        "mikan": KernelAttention,
    }
)
