"""Attention whose weights are a softmax of the logarithm of a kernel plus the importance of the keys."""

import math
from typing import Any

import torch

from .layers_context_encoder_attention import Attention, AttentionAux, AttentionState, growing_state, with_past
from .ops_context_encoder_kernels import (
    at_least_single,
    attend,
    rbf_log_kernel,
    squared_norm,
    visible_keys,
    without_autocast,
)


class DotAttention(Attention):
    """Scaled dot products, softmax(q.k / sqrt(d)) (Vaswani et al. 2017).

    Its similarity is the RBF kernel of query and key, and its importance the squared length of the key, of which the
    dot product consists: q.k / sqrt(d) = -||q - k||^2 / (2 sqrt d) + (||q||^2 + ||k||^2) / (2 sqrt d).

    Args:
        dropout: rate of dropout on the weights.
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout

    @classmethod
    def from_config(cls, config: Any, layer_index: int) -> "DotAttention":
        return cls(config.attention_dropout)

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
    ) -> tuple[torch.Tensor, AttentionAux]:
        key, value, mask = with_past(state, key, value, mask)
        visible = visible_keys(mask, query.size(2), key.size(2), causal, query.device)
        scale = math.sqrt(query.size(-1))
        with without_autocast(query.device):
            wide_query, wide_key = at_least_single(query), at_least_single(key)
            energy = wide_query @ wide_key.transpose(-1, -2) / scale
            if score_bias is not None:
                energy = energy + score_bias
            output, weights = attend(energy, value, visible, self.dropout, self.training)
        aux = AttentionAux(state=growing_state(key, value, mask) if use_cache else None)
        if output_attentions:
            aux.weights = weights
            aux.similarity = rbf_log_kernel(wide_query, wide_key, scale).exp()
            aux.importance = squared_norm(wide_key, 2.0) / (2 * scale)
        return output, aux
