"""The blocks of the encoders: heads of a kind of attention, dot products among them, and a network for each step."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_linear import make_linear
from .ops_encoder import (
    apply_rotary_factors,
    fused_attention,
    make_visibility_mask,
    rbf_log_kernel,
    softmax_attention,
    squared_norm,
)
from .ops_execution import disable_autocast, dropout
from .ops_inputs import to_float32_or_wider

DEVIATION = 0.02
# What a layer keeps of the steps that it has read, for the next ones: tensors, the batch first.
AttentionState = tuple[torch.Tensor, ...]


@dataclass
class AttentionAux:
    """What attention gives beside its output; None where a mechanism has no such thing, or it was not requested.

    Attributes:
        weights: (B, h, queries, keys) attention weights of the values.
        similarity: (B, h, queries, keys) values of the kernel of query and key, above 0; not weighed by importance.
        importance: (B, h, keys) the key's magnitude in nats: weights are a softmax of log similarity + importance.
        pair_weights: (B, h, queries, keys, keys) weights of pairs of keys.
        context_weights: (B, h, queries, keys) weights with which keys are averaged into a context.
        modulation: (B, h, queries, d) factors by which a context multiplies the queries.
        divergence: (B,) divergence, in nats, of the distribution drawn from for each example from its prior.
        clamped: Scalar, the fraction of denominators that were clamped.
        state: Cached tensors with which the next steps can be read; None unless `use_cache` is set.
    """

    weights: torch.Tensor | None = None
    similarity: torch.Tensor | None = None
    importance: torch.Tensor | None = None
    pair_weights: torch.Tensor | None = None
    context_weights: torch.Tensor | None = None
    modulation: torch.Tensor | None = None
    divergence: torch.Tensor | None = None
    clamped: torch.Tensor | None = None
    state: AttentionState | None = None


class Attention(nn.Module):
    """A way to attend: from queries, keys and values of each head to an output of each query."""

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
        """Attend.

        Args:
            query: (B, h, queries, d) queries of all heads.
            key: (B, h, keys, d) keys of all heads.
            value: (B, h, keys, dv) values of all heads.
            mask: Boolean (B, keys), True where a key is real; None: all are.
            causal: Whether query i, counted from the end (i + keys - queries), sees only keys up to its own.
            hidden_states: (B, keys, m) input of the layer, for mechanisms with linear maps of their own.
            score_bias: (B, h or 1, queries, keys) nats that are added to the logarithm of the similarity.
            state: Tensors of earlier steps; keys, values and mask are then those of the new steps. Default: none.
            use_cache: Whether to return the state behind the last key.
            output_attentions: Whether to return weights, similarity and importance, where the mechanism has them.
            query_indices: (K,) indices of the queries whose output is returned, where `causal`, `score_bias`,
                `use_cache` and `output_attentions` are not set; what depends on all queries still does. None: all.

        Returns:
            The output (B, h, queries or K, dv), 0 for a query that sees no key; and what else there is.

        Raises:
            ValueError: a mechanism that cannot add a `score_bias` got one, or one that does not stream a state.
        """
        raise NotImplementedError(f"{type(self).__name__} must define forward")


def select_indices(x: torch.Tensor, indices: torch.Tensor | None, dim: int) -> torch.Tensor:
    """Select the indices of a dimension of x; None selects all."""
    return x if indices is None else x.index_select(dim, indices)


def concatenate_past(
    state: AttentionState | None, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Return keys, values (B, h, keys, ...) and mask (B, keys), with those of earlier calls from `state` in front.

    Args:
        state: Cached keys, values and mask of earlier steps; None: there are none.
        key, value, mask: Keys, values and mask of the new steps; see `Attention.forward`.
    """
    if state is None:
        return key, value, mask
    past_key, past_value, past_mask = state
    if mask is None:
        mask = past_mask.new_ones(key.size(0), key.size(2))  # (B, new keys)
    return (
        torch.cat([past_key, key], dim=2),
        torch.cat([past_value, value], dim=2),
        torch.cat([past_mask, mask], dim=1),
    )


def make_kv_cache(
    key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, memory_length: int
) -> AttentionState:
    """Return keys, values and mask for the next call: the last `memory_length` keys, or all where it is 0."""
    if mask is None:
        mask = torch.ones(key.size(0), key.size(2), dtype=torch.bool, device=key.device)
    last = slice(-memory_length, None) if memory_length else slice(None)
    return key[:, :, last], value[:, :, last], mask[:, last]


class DotAttention(Attention):
    """Scaled dot products, softmax(q.k / sqrt(d)) (Vaswani et al. 2017).

    Its similarity is the RBF kernel of query and key, and its importance the squared length of the key, of which the
    dot product consists: q.k / sqrt(d) = -||q - k||^2 / (2 sqrt d) + (||q||^2 + ||k||^2) / (2 sqrt d).

    Args:
        dropout: Dropout rate on the attention weights.
        memory_length: Largest number of keys in the cached state; 0: no limit.
    """

    def __init__(self, dropout: float = 0.0, memory_length: int = 0) -> None:
        super().__init__()
        self.dropout = dropout
        self.memory_length = memory_length

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
        scale = math.sqrt(query.size(-1))
        with disable_autocast(query.device):
            wide_query, wide_key = to_float32_or_wider(query), to_float32_or_wider(key)
            output = None
            # The fused way takes neither a bias of the scores nor dropout.
            if score_bias is None and not (self.training and self.dropout):
                output = fused_attention(wide_query, wide_key, value, mask, causal)
            if output is None or output_attentions:
                energy = wide_query @ wide_key.transpose(-1, -2) / scale  # (B, h, queries, keys)
                if score_bias is not None:
                    energy = energy + score_bias
                visible = make_visibility_mask(mask, query.size(2), key.size(2), causal, query.device)
                listed, weights = softmax_attention(energy, value, visible, self.dropout, self.training)
                # Weights on request do not change the output, not even its rounding.
                output = listed if output is None else output
        aux = AttentionAux(state=make_kv_cache(key, value, mask, self.memory_length) if use_cache else None)
        if output_attentions:
            aux.weights = weights
            # q.k / scale is log similarity + importance + a part of the query alone, which cancels in the softmax.
            aux.similarity = rbf_log_kernel(wide_query, wide_key, scale).exp()
            aux.importance = squared_norm(wide_key, 2.0) / (2 * scale)
        return output, aux


def small_init_linear(
    in_features: int, out_features: int, deviation: float = DEVIATION, bias: bool = True
) -> nn.Linear:
    """Return a linear layer whose weights start from N(0, deviation^2), and its bias from 0."""
    return make_linear(in_features, out_features, partial(init.normal_, std=deviation), bias=bias)


class MultiHeadAttention(nn.Module):
    """Linear maps to queries, keys and values of each head, attention, and a linear map of the heads side by side.

    Args:
        hidden_size: Width m of the steps, a multiple of `num_heads`.
        num_heads: Number of heads h.
        attention: Attention module, from queries, keys and values of all heads to outputs.
        deviation: Standard deviation of the output map's initial weights.
    """

    def __init__(self, hidden_size: int, num_heads: int, attention: Attention, deviation: float = DEVIATION) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = small_init_linear(hidden_size, hidden_size)
        self.key = small_init_linear(hidden_size, hidden_size)
        self.value = small_init_linear(hidden_size, hidden_size)
        self.attention = attention
        self.output = small_init_linear(hidden_size, hidden_size, deviation)

    def forward(
        self,
        x: torch.Tensor,
        mask: torch.Tensor,
        causal: bool,
        *,
        rotary: tuple[torch.Tensor, torch.Tensor] | None = None,
        **requests: Any,
    ) -> tuple[torch.Tensor, AttentionAux]:
        """Project steps x (B, n, m) to queries, keys and values, attend, and return the projected output.

        Args:
            x: (B, n, m) steps.
            mask: Boolean (B, n), True at real steps.
            rotary: Cosines and sines of `rotary_factors`; None: queries and keys are not turned.
            causal, requests: Whether queries see earlier keys only, and further arguments of `Attention.forward` by
                name.

        Returns:
            (B, n or K, m), and what else the attention gives.
        """
        query, key, value = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )  # (B, h, n, d) each
        if rotary is not None:
            query, key = apply_rotary_factors(query, rotary), apply_rotary_factors(key, rotary)
        attended, aux = self.attention(query, key, value, mask, causal, hidden_states=x, **requests)
        output: torch.Tensor = self.output(attended.transpose(1, 2).flatten(-2).to(x.dtype))  # (B, n or K, m)
        return output, aux


class EncoderBlock(nn.Module):
    """A pre-norm block: x + Attention(LN x), then x + MLP(LN x) with GELU, 0 at padding.

    Args:
        attention: Multi-head attention of the block.
        hidden_size: Hidden size m.
        inner_size: Width of the hidden layer of the feed-forward network.
        dropout: Dropout rate on the two terms that are added to the steps.
        deviation: Standard deviation of the initial weights of the feed-forward network's last map.
    """

    def __init__(
        self, attention: MultiHeadAttention, hidden_size: int, inner_size: int, dropout: float, deviation: float
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(hidden_size)
        self.attention = attention
        self.inner_norm = nn.LayerNorm(hidden_size)
        self.inner = small_init_linear(hidden_size, inner_size)
        self.outer = small_init_linear(inner_size, hidden_size, deviation)
        self.dropout = dropout

    def forward(
        self,
        x: torch.Tensor,
        mask: torch.Tensor,
        causal: bool,
        *,
        query_indices: torch.Tensor | None = None,
        **requests: Any,
    ) -> tuple[torch.Tensor, AttentionAux]:
        """Return the steps (B, n or K, m) behind attention and network, and what the attention outputs beside them.

        Inputs are as in `MultiHeadAttention.forward`; `query_indices` are the K steps to compute.
        """
        attended, aux = self.attention(self.attention_norm(x), mask, causal, query_indices=query_indices, **requests)
        # What follows works on each step by itself, so that the chosen ones are enough.
        x, mask = select_indices(x, query_indices, 1), select_indices(mask, query_indices, 1)
        x = x + dropout(attended, self.dropout, self.training)
        inner = self.outer(F.gelu(self.inner(self.inner_norm(x))))
        x = x + dropout(inner, self.dropout, self.training)
        return x * mask.unsqueeze(-1).to(x.dtype), aux
