"""What every way to attend of the ContextEncoder has in common: how it is called, and what it gives."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

# What a layer keeps of the steps that it has read, for the next ones: tensors, the batch first.
AttentionState = tuple[torch.Tensor, ...]


@dataclass
class AttentionAux:
    """What attention gives beside its output; None where a mechanism has no such thing, or it was not requested.

    Attributes:
        weights: (B, h, queries, keys) how much each query takes of each value.
        similarity: (B, h, queries, keys) values of the kernel of query and key, above 0; not weighed by importance.
        importance: (B, h, keys) the key's magnitude in nats: weights are a softmax of log similarity + importance.
        pair_weights: (B, h, queries, keys, keys) weights of pairs of keys.
        context_weights: (B, h, queries, keys) weights by which a context is gathered.
        modulation: (B, h, queries, d) what a context multiplies queries by.
        divergence: (B,) nats by which what was drawn for each example departs from its prior.
        copula_term: (B,) the term of the copula of the authors of MIKAN beside the divergence.
        clamped: scalar, the fraction of denominators that were clamped.
        state: what the layer has read, for the next steps; where `use_cache` requests it.
    """

    weights: torch.Tensor | None = None
    similarity: torch.Tensor | None = None
    importance: torch.Tensor | None = None
    pair_weights: torch.Tensor | None = None
    context_weights: torch.Tensor | None = None
    modulation: torch.Tensor | None = None
    divergence: torch.Tensor | None = None
    copula_term: torch.Tensor | None = None
    clamped: torch.Tensor | None = None
    state: AttentionState | None = None


class Attention(nn.Module):
    """A way to attend: from queries, keys and values of each head to an output of each query."""

    @classmethod
    def from_config(cls, config: Any, layer_index: int) -> "Attention":
        """Return the attention of a layer, counted from 0, as the fields of a `ContextEncoderConfig` describe it."""
        raise NotImplementedError(f"{cls.__name__} must define from_config(config, layer_index)")

    def begin_pass(self) -> None:
        """Do what comes before a pass of the whole model, once and outside of what checkpointing computes again."""

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
        """Attend.

        Args:
            query: (B, h, queries, d).
            key: (B, h, keys, d).
            value: (B, h, keys, dv).
            mask: boolean (B, keys), True where a key is real; None: all are.
            causal: query i, counted from the end (i + keys - queries), sees keys up to its own.
            hidden_states: (B, keys, m) what the layer reads, for mechanisms with maps of their own.
            score_bias: (B, h or 1, queries, keys) nats that are added to the logarithm of the similarity.
            state: what earlier steps left; keys, values and mask are then those of the new steps.
            use_cache: give the state behind the last key.
            output_attentions: give weights, similarity and importance, where the mechanism has them.
            places: (K,) of the queries whose output is wanted, where `causal`, `score_bias`, `use_cache` and
                `output_attentions` are not; what depends on all queries still does. None: all.

        Returns:
            The output (B, h, queries or K, dv), 0 for a query that sees no key; and what else there is.

        Raises:
            ValueError: a mechanism that cannot add a `score_bias` got one, or one that does not stream a state.
        """
        raise NotImplementedError(f"{type(self).__name__} must define forward")


def chosen(x: torch.Tensor, places: torch.Tensor | None, dim: int) -> torch.Tensor:
    """Return x at some places of a dimension; None: x."""
    return x if places is None else x.index_select(dim, places)


def with_past(
    state: AttentionState | None, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Return keys, values and mask of all steps, (B, h, keys, ...) and (B, keys), of a state that holds these three.

    Args:
        state: keys, values and mask of the steps before; None: there are none.
        key, value, mask: of the new steps; see `Attention.forward`.
    """
    if state is None:
        return key, value, mask
    past_key, past_value, past_mask = state
    if mask is None:
        mask = past_mask.new_ones(key.size(0), key.size(2))
    return (
        torch.cat([past_key, key], dim=2),
        torch.cat([past_value, value], dim=2),
        torch.cat([past_mask, mask], dim=1),
    )


def growing_state(
    key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, memory_length: int
) -> AttentionState:
    """Return the state that `with_past` reads: the last `memory_length` keys, or, where that is 0, all."""
    if mask is None:
        mask = torch.ones(key.size(0), key.size(2), dtype=torch.bool, device=key.device)
    last = slice(-memory_length, None) if memory_length else slice(None)
    return key[:, :, last], value[:, :, last], mask[:, last]
