"""The blocks of the ContextEncoder: several heads of one kind of attention, and a network for each step."""

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_context_encoder_attention import Attention, AttentionAux, AttentionState, chosen
from .layers_linear import make_linear
from .ops_context_encoder_positions import rotate
from .ops_dropout import dropout

DEVIATION = 0.02


def small_linear(in_features: int, out_features: int, deviation: float = DEVIATION, bias: bool = True) -> nn.Linear:
    """Return a linear layer whose weights start from N(0, deviation^2), and its bias from 0."""
    return make_linear(in_features, out_features, partial(init.normal_, std=deviation), bias=bias)


class MultiHeadAttention(nn.Module):
    """Linear maps to queries, keys and values of each head, attention, and a linear map of the heads side by side.

    Args:
        hidden_size: m, a multiple of `num_heads`.
        num_heads: h.
        attention: what attends.
        deviation: standard deviation of the start of the last map.
    """

    def __init__(self, hidden_size: int, num_heads: int, attention: Attention, deviation: float = DEVIATION) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = small_linear(hidden_size, hidden_size)
        self.key = small_linear(hidden_size, hidden_size)
        self.value = small_linear(hidden_size, hidden_size)
        self.attention = attention
        self.output = small_linear(hidden_size, hidden_size, deviation)

    def forward(
        self,
        x: torch.Tensor,
        mask: torch.Tensor,
        causal: bool,
        *,
        rotary: tuple[torch.Tensor, torch.Tensor] | None = None,
        score_bias: torch.Tensor | None = None,
        state: AttentionState | None = None,
        use_cache: bool = False,
        output_attentions: bool = False,
        places: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, AttentionAux]:
        """Attend among the steps.

        Args:
            x: (B, n, m).
            mask: boolean (B, n), True at real steps.
            rotary: see `rotary_factors`; None: queries and keys are not turned.
            causal, score_bias, state, use_cache, output_attentions, places: see `Attention.forward`.

        Returns:
            (B, n or K, m), and what else the attention gives.
        """
        query, key, value = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        if rotary is not None:
            query, key = rotate(query, rotary), rotate(key, rotary)
        attended, aux = self.attention(
            query,
            key,
            value,
            mask,
            causal,
            hidden_states=x,
            score_bias=score_bias,
            state=state,
            use_cache=use_cache,
            output_attentions=output_attentions,
            places=places,
        )
        output: torch.Tensor = self.output(attended.transpose(1, 2).flatten(-2).to(x.dtype))
        return output, aux


class EncoderBlock(nn.Module):
    """A pre-norm block: x + Attention(LN x), then x + MLP(LN x) with GELU, 0 at padding.

    Args:
        attention: the heads.
        hidden_size: m.
        inner_size: width of the hidden layer of the network.
        dropout: rate of dropout on both terms that are added.
        deviation: standard deviation of the start of the network's last map.
    """

    def __init__(
        self, attention: MultiHeadAttention, hidden_size: int, inner_size: int, dropout: float, deviation: float
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(hidden_size)
        self.attention = attention
        self.inner_norm = nn.LayerNorm(hidden_size)
        self.inner = small_linear(hidden_size, inner_size)
        self.outer = small_linear(inner_size, hidden_size, deviation)
        self.dropout = dropout

    def forward(
        self,
        x: torch.Tensor,
        mask: torch.Tensor,
        causal: bool,
        *,
        rotary: tuple[torch.Tensor, torch.Tensor] | None = None,
        score_bias: torch.Tensor | None = None,
        state: AttentionState | None = None,
        use_cache: bool = False,
        output_attentions: bool = False,
        places: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, AttentionAux]:
        """Return the steps (B, n or K, m), and what the attention gives; inputs as in `MultiHeadAttention.forward`."""
        attended, aux = self.attention(
            self.attention_norm(x),
            mask,
            causal,
            rotary=rotary,
            score_bias=score_bias,
            state=state,
            use_cache=use_cache,
            output_attentions=output_attentions,
            places=places,
        )
        x, mask = chosen(x, places, 1), chosen(mask, places, 1)
        x = x + dropout(attended, self.dropout, self.training)
        inner = self.outer(F.gelu(self.inner(self.inner_norm(x))))
        x = x + dropout(inner, self.dropout, self.training)
        return x * mask.unsqueeze(-1).to(x.dtype), aux
