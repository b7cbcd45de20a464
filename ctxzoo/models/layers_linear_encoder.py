"""Attention in linear time as a layer: it owns its features, and streams with a state of fixed size."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from transformers import initialization as init

from .layers_encoder import Attention, AttentionAux, AttentionState, select_indices
from .ops_encoder import check_importance_p_norm, squared_norm
from .ops_execution import disable_autocast
from .ops_inputs import to_float32_or_wider
from .ops_linear_encoder import (
    FEATURE_MAPS,
    Features,
    LinearState,
    attend_to_key_sums,
    check_state_decay,
    default_num_features,
    draw_projection,
    feature_map,
    feature_values,
    linear_attention,
    linear_attention_weights,
    log_importance,
    sum_keys,
)
from .ops_triton import Implementation

# Positions that are read at a time where no gradient is computed. What is computed on the way then stays small:
# allocating it anew took as long as the rest (n = 4,096, 8 heads of 64, one core).
BLOCK = 256


class EfficientAttention(Attention):
    """Attention by features of queries and keys (ESA); see `linear_attention` and `feature_map`.

    Args:
        num_heads: Number of heads h.
        head_size: Width d of a head.
        feature_map: Kind of feature map, one of `FEATURE_MAPS`.
        num_features: Number M of features; None: d ln d, see `default_num_features`. elu always has d.
        p_norm: Exponent p of the importance; elu has none, as in Katharopoulos et al. (2020).
        qk_norm: Whether queries and keys of each head pass a layer normalisation; the variance of random features grows
            like exp(||q' + k'||^2).
        seed: Seed of the random projections, a different one for each layer.
        state_decay: Factor gamma, in (0, 1], by which all sums over earlier keys are multiplied before a key is added;
            one for all heads, or one for each. Below 1 in causal attention only.

    Raises:
        ValueError: an unknown feature map, a p_norm that is none, sizes below 1, other than d features of elu, or a
            state_decay that is none.
    """

    projection: torch.Tensor | None
    # How causal sums are computed, see `linear_attention`: to be set on a layer, and kept in no configuration.
    implementation: Implementation = "auto"

    def __init__(
        self,
        num_heads: int,
        head_size: int,
        *,
        feature_map: str = "favor",
        num_features: int | None = None,
        p_norm: float = 2.0,
        qk_norm: bool = True,
        seed: int = 0,
        state_decay: float | Sequence[float] = 1.0,
    ) -> None:
        super().__init__()
        if feature_map not in FEATURE_MAPS:
            raise ValueError(f"feature_map {feature_map!r} is none of {', '.join(FEATURE_MAPS)}")
        sizes = {"num_heads": num_heads, "head_size": head_size}
        if num_features is not None:
            sizes["num_features"] = num_features
        for name, size in sizes.items():
            if size < 1:
                raise ValueError(f"{name} is {size}, expected at least 1")
        check_importance_p_norm(p_norm)
        factors = check_state_decay(state_decay, num_heads)
        if feature_map == "elu" and num_features not in (None, head_size):
            raise ValueError(f"num_features is {num_features}, but elu has as many features as a head has numbers")
        self.num_heads, self.head_size = num_heads, head_size
        self.feature_map = feature_map
        self.num_features = num_features or default_num_features(head_size)
        self.p_norm = None if feature_map == "elu" else p_norm
        self.seed, self.state_decay = seed, state_decay
        # By head; empty where nothing decays.
        self.log_decay = [] if set(factors) == {1.0} else [math.log(factor) for factor in factors]
        self.query_norm = nn.LayerNorm(head_size) if qk_norm else nn.Identity()
        self.key_norm = nn.LayerNorm(head_size) if qk_norm else nn.Identity()
        shape = num_heads, self.num_features, head_size  # (h, M, d)
        if feature_map == "learned":
            self.projection = nn.Parameter(torch.empty(shape))
        else:
            self.register_buffer("projection", None if feature_map == "elu" else torch.empty(shape))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the projection from the seed."""
        if self.projection is None:
            return
        # On the CPU, so that a seed means the same numbers on every device.
        generator = torch.Generator().manual_seed(self.seed)
        drawn = [draw_projection(self.num_features, self.head_size, generator) for _ in range(self.num_heads)]
        init.copy_(self.projection, torch.stack(drawn))

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
        """Attend in linear time, by sums over features of the keys; see `Attention.forward`.

        In training, or on request, `clamped` is there. Weights are those of `linear_attention_weights`; beside a
        state, whose keys are gone, there are none.
        """
        if score_bias is not None:
            raise ValueError("attention in linear time has no scores that a score_bias could be added to")
        query = select_indices(query, query_indices, 2)
        if self.log_decay and not causal:
            raise ValueError(f"state_decay={self.state_decay} of attention that is not causal; expected 1")
        if state is None and not output_attentions and self._should_attend_in_blocks(query, key, mask, causal):
            if not causal:
                return self._attend_in_blocks(query, key, value, mask), AttentionAux()
            output, sums = self._attend_causally_in_blocks(query, key, value, mask)
            return output, AttentionAux(state=sums if use_cache else None)
        query, key = self.query_norm(query), self.key_norm(key)
        with disable_autocast(query.device):
            wide_query, wide_key = to_float32_or_wider(query), to_float32_or_wider(key)
            # What all features of a query share cancels in the output, but not in a similarity that is shown.
            query_features = self._map_features(wide_query, relative=not output_attentions)
            key_features = self._map_keys(wide_key)
            aux = AttentionAux()
            if output_attentions:
                aux.importance = self._compute_importance(wide_key)  # (B, h, L)
            if output_attentions and state is None:
                similar = feature_values(query_features) @ feature_values(self._map_features(wide_key)).mT
                aux.similarity = similar  # (B, h, T, L)
                aux.weights = linear_attention_weights(query_features, key_features, mask, causal)
            output, next_state, aux.clamped = linear_attention(
                query_features,
                key_features,
                value.to(wide_query.dtype),
                mask,
                causal,
                state=None if state is None else LinearState(*state),
                with_state=use_cache,
                with_clamped=self.training or output_attentions,
                implementation=self.implementation if causal else "auto",
            )
            aux.state = self._let_decay(next_state, key.size(-2))
        return output.to(value.dtype), aux

    def _should_attend_in_blocks(
        self, query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None, causal: bool
    ) -> bool:
        """Return whether to attend in blocks of positions, to save memory: on a CPU, without gradients."""
        if self.training or torch.is_grad_enabled() or torch.compiler.is_compiling():
            return False
        if key.device.type != "cpu" or self.implementation != "auto":
            return False
        length = key.size(-2)
        # A mask of another shape is left to `linear_attention`, which refuses it.
        if length <= BLOCK or (mask is not None and mask.shape != (key.size(0), length)):
            return False
        return not causal or query.size(-2) == length

    def _attend_in_blocks(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the output (B, h, T, dv) where every query sees all keys."""
        # First the sums of all keys: every query reads all of them.
        state = None
        for place in _split_positions(key):
            wide = to_float32_or_wider(self.key_norm(key[..., place, :]))
            block_mask = None if mask is None else mask[:, place]
            with disable_autocast(key.device):
                state = sum_keys(self._map_keys(wide), value[..., place, :].to(wide.dtype), block_mask, state=state)
        assert state is not None
        output = value.new_empty(*query.shape[:-1], value.size(-1))  # (B, h, T, dv)
        for place in _split_positions(query):
            wide = to_float32_or_wider(self.query_norm(query[..., place, :]))
            with disable_autocast(query.device):
                output[..., place, :] = attend_to_key_sums(self._map_features(wide, relative=True), state)
        return output

    def _attend_causally_in_blocks(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, LinearState | None]:
        """Return the causal output (B, h, L, dv), and the state behind the keys."""
        state = None
        output = value.new_empty(*query.shape[:-1], value.size(-1))  # (B, h, L, dv)
        for place in _split_positions(key):
            wide_query = to_float32_or_wider(self.query_norm(query[..., place, :]))
            wide_key = to_float32_or_wider(self.key_norm(key[..., place, :]))
            with disable_autocast(key.device):
                output[..., place, :], state, _ = linear_attention(
                    self._map_features(wide_query, relative=True),
                    self._map_keys(wide_key),
                    value[..., place, :].to(wide_key.dtype),
                    None if mask is None else mask[:, place],
                    causal=True,
                    state=state,
                    with_state=True,
                )
                state = self._let_decay(state, wide_key.size(-2))
        return output, state

    def _map_features(
        self, x: torch.Tensor, relative: bool = False, squared_length: torch.Tensor | None = None
    ) -> Features:
        """Return the features of queries or keys `x` (B, h, n, d), whose inner products approximate the kernel."""
        projection = None if self.projection is None else self.projection.to(x.dtype)
        return feature_map(x, self.feature_map, projection, relative, squared_length)

    def _map_keys(self, wide_key: torch.Tensor) -> Features:
        """Return the features of keys (B, h, n, d), multiplied by their importance and, with a decay, by gamma^-i.

        Outputs are quotients, so that gamma^-j of a key and gamma^(i - j) of what query i keeps of it are the same.
        """
        squared_length = squared_norm(wide_key, 2.0) if self.p_norm == 2 else None
        features = self._map_features(wide_key, squared_length=squared_length)
        # Logarithms are added to the offset, as exp of them could overflow.
        if self.p_norm is not None:
            importance = log_importance(wide_key, self.p_norm, squared_length)
            features = features._replace(offset=features.offset + importance)
        if self.log_decay:
            places = torch.arange(1, wide_key.size(-2) + 1, dtype=wide_key.dtype, device=wide_key.device)
            gain = -wide_key.new_tensor(self.log_decay).unsqueeze(-1) * places  # (h, n)
            features = features._replace(offset=features.offset + gain.unsqueeze(-1))
        return features

    def _let_decay(self, state: LinearState | None, steps: int) -> LinearState | None:
        """Return the state as the keys behind `steps` keys find it, which count their places from 1 again."""
        if state is None or not self.log_decay:
            return state
        return state._replace(level=state.level + steps * state.level.new_tensor(self.log_decay))

    def _compute_importance(self, wide_key: torch.Tensor) -> torch.Tensor | None:
        """Return the logarithm of the importance of keys, (B, h, n), or None where they have none."""
        return None if self.p_norm is None else log_importance(wide_key, self.p_norm).squeeze(-1)


def _split_positions(x: torch.Tensor) -> list[slice]:
    """Split the positions of x (B, h, L, d) into blocks that are attended to one at a time."""
    return [slice(start, start + BLOCK) for start in range(0, x.size(-2), BLOCK)]


def build_linear_attention(config: Any, layer_index: int) -> EfficientAttention:
    """Return the attention of a layer, counted from 0, as the fields of a `LinearEncoderConfig` describe it."""
    number = config.num_features
    if number == 0:
        number = default_num_features(config.head_size, learned=True) if config.feature_map == "learned" else None
    return EfficientAttention(
        config.num_heads,
        config.head_size,
        feature_map=config.feature_map,
        num_features=number,
        p_norm=float(config.p_norm),
        qk_norm=config.qk_norm,
        seed=1000 * layer_index,
        state_decay=config.state_decay,
    )
