"""Attention in linear time as a layer: it owns its features, and streams with a state of fixed size."""

from typing import Any

import torch
from torch import nn
from transformers import initialization as init

from .layers_context_encoder_attention import Attention, AttentionAux, AttentionState, chosen
from .ops_context_encoder_kernels import at_least_single, check_importance
from .ops_context_encoder_linear import (
    FEATURE_MAPS,
    Features,
    LinearState,
    default_num_features,
    draw_projection,
    explicit_weights,
    feature_map,
    feature_values,
    key_sums,
    linear_attention,
    log_importance,
    read_sums,
)
from .ops_tracing import without_autocast

# Positions that are read at a time where no gradient is computed. What is computed on the way then stays small:
# allocating it anew took as long as the rest (n = 4,096, 8 heads of 64, one core).
BLOCK = 256


class EfficientAttention(Attention):
    """Attention by features of queries and keys (ESA); see `linear_attention` and `feature_map`.

    Args:
        num_heads: h.
        head_size: d.
        feature_map: one of `FEATURE_MAPS`.
        num_features: M; None: `default_num_features`. elu takes d.
        p_norm: p of the importance; None: no importance, as elu has none in Katharopoulos et al. (2020).
        orthogonal: whether projections are drawn orthogonal.
        redraw_interval: passes in training after which the projection is drawn anew; 0: never.
        qk_norm: layer normalisation of the queries and keys of each head: the variance of random features grows like
            exp(||q' + k'||^2).
        chunk_size, eps, key_eps: see `linear_attention`.
        exact: form the matrix of weights, for tests and for study.
        seed: of the projections; give each layer one of its own.

    Raises:
        ValueError: an unknown feature map, a p_norm that is none, sizes below 1, other than d features of elu, or a
            redraw of features that are not drawn.
    """

    projection: torch.Tensor | None
    passes: torch.Tensor | None

    def __init__(
        self,
        num_heads: int,
        head_size: int,
        *,
        feature_map: str = "favor",
        num_features: int | None = None,
        p_norm: float | None = 2.0,
        orthogonal: bool = True,
        redraw_interval: int = 0,
        qk_norm: bool = True,
        chunk_size: int = 64,
        eps: float = 1e-6,
        key_eps: float = 0.0,
        exact: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if feature_map not in FEATURE_MAPS:
            raise ValueError(f"feature_map {feature_map!r} is none of {', '.join(FEATURE_MAPS)}")
        sizes = {"num_heads": num_heads, "head_size": head_size, "chunk_size": chunk_size}
        if num_features is not None:
            sizes["num_features"] = num_features
        for name, size in sizes.items():
            if size < 1:
                raise ValueError(f"{name} is {size}, expected at least 1")
        if p_norm is not None:
            check_importance(p_norm)
        if feature_map == "elu" and num_features not in (None, head_size):
            raise ValueError(f"num_features is {num_features}, but elu has as many features as a head has numbers")
        if redraw_interval < 0 or (redraw_interval and feature_map in ("elu", "learned")):
            raise ValueError(
                f"redraw_interval is {redraw_interval} with feature_map={feature_map!r}: expected 0 or above, and 0 "
                "where features are not drawn"
            )
        self.num_heads, self.head_size = num_heads, head_size
        self.feature_map = feature_map
        self.num_features = num_features or default_num_features(head_size)
        self.p_norm = p_norm
        self.orthogonal = orthogonal
        self.redraw_interval = redraw_interval
        self.chunk_size, self.eps, self.key_eps = chunk_size, eps, key_eps
        self.exact = exact
        self.seed = seed
        self.query_norm = nn.LayerNorm(head_size) if qk_norm else nn.Identity()
        self.key_norm = nn.LayerNorm(head_size) if qk_norm else nn.Identity()
        shape = num_heads, self.num_features, head_size
        if feature_map == "learned":
            self.projection = nn.Parameter(torch.empty(shape))
        else:
            self.register_buffer("projection", None if feature_map == "elu" else torch.empty(shape))
        self.register_buffer("passes", torch.empty((), dtype=torch.int64) if redraw_interval else None)
        self.reset_parameters()

    @classmethod
    def from_config(cls, config: Any, layer_index: int) -> "EfficientAttention":
        with_norm = config.importance == "norm" or (config.importance == "auto" and config.feature_map != "elu")
        return cls(
            config.num_heads,
            config.head_size,
            feature_map=config.feature_map,
            num_features=config.num_features,
            p_norm=float(config.p_norm) if with_norm else None,
            orthogonal=config.orthogonal,
            redraw_interval=config.redraw_interval,
            qk_norm=config.qk_norm,
            chunk_size=config.chunk_size,
            eps=float(config.feature_eps),
            key_eps=float(config.key_feature_eps),
            exact=config.attention_mode == "exact",
            seed=config.noise_seed + 1000 * layer_index,
        )

    def reset_parameters(self) -> None:
        """Draw the projection from the seed."""
        if self.projection is not None:
            init.copy_(self.projection, self._drawn(0))
        if self.passes is not None:
            init.zeros_(self.passes)

    def _drawn(self, times: int) -> torch.Tensor:
        """Return the projection (h, M, d) that is drawn after so many draws."""
        # A seed of its own for each draw: a training that goes on from a checkpoint draws what it would have drawn.
        generator = torch.Generator().manual_seed(self.seed + 1_000_003 * times)
        heads = range(self.num_heads)
        return torch.stack(
            [draw_projection(self.num_features, self.head_size, self.orthogonal, generator) for _ in heads]
        )

    def begin_pass(self) -> None:
        """Count a pass in training, and draw the projection anew where it is due.

        It happens before the blocks: one that is checkpointed would be computed again with other features.
        """
        if self.passes is None or not self.training:
            return
        assert self.projection is not None
        count = int(self.passes)
        if count and count % self.redraw_interval == 0:
            # Another tensor, since a pass before may still need the previous one for its gradient.
            self.projection = self._drawn(count // self.redraw_interval).to(self.projection)
        self.passes += 1

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
        """Attend; see `Attention.forward`.

        In training, or on request, `clamped` is there. Weights are those of `explicit_weights`; beside a state, whose
        keys are gone, there are none.
        """
        if score_bias is not None:
            raise ValueError("attention in linear time has no scores that a score_bias could be added to")
        query = chosen(query, places, 2)
        if state is None and not output_attentions and self._reads_blocks(query, key, mask, causal):
            output, sums = (self._causal_blocks if causal else self._blocks)(query, key, value, mask)
            return output, AttentionAux(state=sums if use_cache else None)
        query, key = self.query_norm(query), self.key_norm(key)
        with without_autocast(query.device):
            wide_query, wide_key = at_least_single(query), at_least_single(key)
            wide_value = value.to(wide_query.dtype)
            of_query = self._features(wide_query, relative=not output_attentions)
            similar, importance = self._features(wide_key), self._importance(wide_key)
            of_key = _weighed(similar, importance)
            aux = AttentionAux()
            if output_attentions and state is None:
                aux.similarity = feature_values(of_query) @ feature_values(similar).mT
            if output_attentions and importance is not None:
                aux.importance = importance.squeeze(-1)
            constants = {"eps": self.eps, "key_eps": self.key_eps}
            if self.exact:
                if state is not None or use_cache:
                    raise ValueError("exact attention keeps no state; use_cache must be False")
                weights = explicit_weights(of_query, of_key, mask, causal, **constants)
                aux.weights = weights if output_attentions else None
                return (weights @ wide_value).to(value.dtype), aux
            if output_attentions and state is None:
                aux.weights = explicit_weights(of_query, of_key, mask, causal, **constants)
            output, aux.state, aux.clamped = linear_attention(
                of_query,
                of_key,
                wide_value,
                mask,
                causal,
                chunk_size=self.chunk_size,
                state=None if state is None else LinearState(*state),
                with_state=use_cache,
                with_clamped=self.training or output_attentions,
                **constants,
            )
        return output.to(value.dtype), aux

    def _reads_blocks(self, query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None, causal: bool) -> bool:
        """Return whether blocks give the output, and are fewer numbers at a time; a GPU would wait between them."""
        if self.training or torch.is_grad_enabled() or torch.compiler.is_compiling() or self.exact:
            return False
        if key.device.type != "cpu":
            return False
        length = key.size(-2)
        if length <= BLOCK or (mask is not None and mask.shape != (key.size(0), length)):
            return False
        # key_eps is relative to the largest of all keys, which is not known yet.
        return query.size(-2) == length if causal else not self.key_eps

    def _blocks(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, LinearState | None]:
        """Return the output (B, h, T, dv) where every query sees all keys."""
        state = None
        for place in _places(key):
            wide = at_least_single(self.key_norm(key[..., place, :]))
            of_mask = None if mask is None else mask[:, place]
            with without_autocast(key.device):
                features = _weighed(self._features(wide), self._importance(wide))
                state = key_sums(features, value[..., place, :].to(wide.dtype), of_mask, state=state)
        assert state is not None
        output = value.new_empty(*query.shape[:-1], value.size(-1))
        for place in _places(query):
            wide = at_least_single(self.query_norm(query[..., place, :]))
            with without_autocast(query.device):
                output[..., place, :] = read_sums(self._features(wide, relative=True), state, self.eps)
        return output, None

    def _causal_blocks(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, LinearState | None]:
        """Return the causal output (B, h, L, dv), and the state behind the keys."""
        state = None
        output = value.new_empty(*query.shape[:-1], value.size(-1))
        for place in _places(key):
            wide_query = at_least_single(self.query_norm(query[..., place, :]))
            wide_key = at_least_single(self.key_norm(key[..., place, :]))
            with without_autocast(key.device):
                output[..., place, :], state, _ = linear_attention(
                    self._features(wide_query, relative=True),
                    _weighed(self._features(wide_key), self._importance(wide_key)),
                    value[..., place, :].to(wide_key.dtype),
                    None if mask is None else mask[:, place],
                    causal=True,
                    chunk_size=self.chunk_size,
                    eps=self.eps,
                    key_eps=self.key_eps,
                    state=state,
                    with_state=True,
                )
        return output, state

    def _importance(self, wide_key: torch.Tensor) -> torch.Tensor | None:
        """Return the logarithm of the importance of keys, (B, h, L, 1), or None where they have none."""
        return None if self.p_norm is None else log_importance(wide_key, self.p_norm)

    def _features(self, x: torch.Tensor, relative: bool = False) -> Features:
        projection = None if self.projection is None else self.projection.to(x.dtype)
        return feature_map(x, self.feature_map, projection, relative)


def _weighed(features: Features, importance: torch.Tensor | None) -> Features:
    return features if importance is None else features._replace(offset=features.offset + importance)


def _places(x: torch.Tensor) -> list[slice]:
    """Return the blocks of the positions of x (B, h, L, d)."""
    return [slice(start, start + BLOCK) for start in range(0, x.size(-2), BLOCK)]
