"""Attention of higher order as a layer: some heads attend pairwise, the others to pairs of keys."""

from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_encoder import (
    DEVIATION,
    Attention,
    AttentionAux,
    AttentionState,
    concatenate_past,
    make_kv_cache,
    select_indices,
    small_init_linear,
)
from .layers_linear import make_linear
from .ops_encoder import fused_attention, make_visibility_mask, softmax_attention
from .ops_execution import disable_autocast, dropout
from .ops_higher_order_encoder import (
    FactorisedState,
    anova_scores,
    context_attention_weights,
    factorised_attention,
    modulate_query,
    pair_attention,
    windowed_pair_attention,
)
from .ops_inputs import to_float32_or_wider

EXACT_TYPES = ("trilinear", "volume")
ORDER_TYPES = (*EXACT_TYPES, "contextual", "factorised", "anova")
ORDERS = {"factorised": 3, "anova": 2}  # where nothing else is asked for
CHUNK = 32  # queries of factorised attention whose prefix sums exist at a time

Result = tuple[torch.Tensor, torch.Tensor | None]


def ones_init_linear(in_features: int, out_features: int) -> nn.Linear:
    """Return a linear map that starts next to the constant 1: weights from N(0, 0.02^2), a bias of 1.

    Second keys and values of 1 make attention to pairs attention to single keys.
    """
    return make_linear(in_features, out_features, partial(init.normal_, std=DEVIATION), init.ones_)


class HigherOrderAttention(Attention):
    """Attention whose last heads are of higher order (HSA), their outputs beside those of pairwise heads.

    Args:
        num_heads: Number h of heads, pairwise and of higher order together.
        head_size: Width d of a head.
        hidden_size: Width m of the layer's input, from which second keys and values are computed.
        order_type: Kind of interaction of pairs of keys, one of `ORDER_TYPES`.

            trilinear, volume: all pairs of keys, `pair_attention`.
            contextual: the score of a key is modulated by a context that the query gathers, `modulate_query`.
            factorised: products of sums over keys, `factorised_attention`.
            anova: scores of higher order in the numbers of a head, `anova_scores`.
        num_higher_heads: Number of heads of higher order; None: all.
        max_exact_length: Longest sequence whose pairs of keys are all formed where there is no window.
        window: Number of last keys of which pairs consist, none of them after the query; None: all keys.
        distinct: Whether the keys of a pair have to differ (trilinear, volume, factorised).
        order: Number of tokens that factorised attention joins, the query included, 2 to 4; or the order m of
            `anova_scores`, 1 or above; None: 3 and 2.
        qk_norm: Whether queries, keys and second keys of heads of higher order are normalised to a root mean square of
            1; products of three factors have heavy tails.
        dropout: Dropout rate on the attention weights, or on the output of factorised heads.
        memory_length: Largest number of keys in a cached state that grows; 0: no limit. States of sums do not grow.

    Raises:
        ValueError: an unknown name, or a number that the kind cannot have.
    """

    def __init__(
        self,
        num_heads: int,
        head_size: int,
        hidden_size: int,
        *,
        order_type: str = "contextual",
        num_higher_heads: int | None = None,
        max_exact_length: int = 128,
        window: int | None = None,
        distinct: bool = False,
        order: int | None = None,
        qk_norm: bool = True,
        dropout: float = 0.0,
        memory_length: int = 0,
    ) -> None:
        super().__init__()
        higher = num_heads if num_higher_heads is None else num_higher_heads
        if order_type not in ORDER_TYPES:
            raise ValueError(f"order_type {order_type!r} is none of {', '.join(ORDER_TYPES)}")
        order = ORDERS.get(order_type, 3) if order is None else order
        ranges = {
            "num_higher_heads": (higher, 1, num_heads),
            "head_size": (head_size, 1, None),
            "hidden_size": (hidden_size, 1, None),
            "max_exact_length": (max_exact_length, 1, None),
            "window": (1 if window is None else window, 1, None),
            "order": (order, 2, 4) if order_type == "factorised" else (order, 1, None),
        }
        for name, (number, least, most) in ranges.items():
            if number < least or (most is not None and number > most):
                raise ValueError(
                    f"{name} is {number}, expected {f'{least} to {most}' if most else f'at least {least}'}"
                )
        self.num_heads, self.num_higher_heads = num_heads, higher
        self.head_size = head_size
        self.order_type = order_type
        self.max_exact_length, self.window, self.distinct = max_exact_length, window, distinct
        self.dropout = float(dropout)
        self.memory_length = memory_length

        def make_norm() -> nn.Module:
            """Return a normalisation of the entries of each head, or the identity without `qk_norm`."""
            return nn.RMSNorm(head_size, eps=1e-6) if qk_norm else nn.Identity()

        self.query_norm, self.key_norm = make_norm(), make_norm()
        width = higher * head_size
        # Second keys: one of pairs and of contexts; of tuples one for each token but the query and the first key.
        num_further = {"trilinear": 1, "volume": 1, "contextual": 1, "factorised": order - 2}.get(order_type, 0)
        num_values = 0 if order_type == "contextual" else num_further
        self.second_keys = nn.ModuleList(ones_init_linear(hidden_size, width) for _ in range(num_further))
        self.second_norms = nn.ModuleList(make_norm() for _ in range(num_further))
        self.second_values = nn.ModuleList(ones_init_linear(hidden_size, width) for _ in range(num_values))
        self.summary_key: nn.Linear | None = None
        if order_type == "contextual":
            self.summary_key = small_init_linear(hidden_size, width, bias=False)  # it would cancel in the softmax
        self.strengths: nn.Parameter | None = None  # lambda
        if order_type in ("contextual", "anova"):
            # Of anova lambda_2 to lambda_m, since lambda_1 is 1.
            self.strengths = nn.Parameter(torch.empty(higher, 1 if order_type == "contextual" else order - 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start as pairwise attention: strengths of 0."""
        if self.strengths is not None:
            init.zeros_(self.strengths)

    @property
    def has_fixed_size_state(self) -> bool:
        """Whether the size of the state does not depend on the number of steps: only sums, and no pairwise heads."""
        return self.order_type == "factorised" and self.num_higher_heads == self.num_heads

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
        """Attend with some heads to single keys and with the others to pairs or tuples; see `Attention.forward`.

        The weight of a key in a head that attends to pairs is that of all pairs it is the first of. With a window there
        are no weights. `context_weights`, `modulation` and `pair_weights` are those of the heads of higher order.

        Raises:
            ValueError: also for missing `hidden_states`, or more keys than `max_exact_length` without a window.
        """
        if score_bias is not None:
            raise ValueError("attention of higher order scores pairs of keys: it cannot add a score_bias")
        if hidden_states is None:
            raise ValueError("attention of higher order makes second keys of hidden_states; got None")
        aux = AttentionAux()
        sums: FactorisedState | None = None
        if self.has_fixed_size_state:
            sums = None if state is None else (state[0], state[1])  # sums over the keys, and the number of real ones
        else:
            if state is not None:
                # Second keys and values of earlier steps are made again from what the layer read there.
                hidden_states = torch.cat((state[3], hidden_states), dim=1)  # (B, keys, m)
            key, value, mask = concatenate_past(None if state is None else state[:3], key, value, mask)
            if use_cache:
                kept = make_kv_cache(key, value, mask, self.memory_length)
                aux.state = (*kept, hidden_states[:, -kept[0].size(2) :])
        self._check_length(key.size(2))
        if mask is not None and not (torch.compiler.is_compiling() or mask.is_cuda) and bool(mask.all()):
            mask = None  # kernels are faster without
        pairwise = self.num_heads - self.num_higher_heads  # the first heads; those of higher order follow
        upper = self.query_norm(query[:, pairwise:]), self.key_norm(key[:, pairwise:])
        seconds, values = self._project_further_keys(hidden_states)
        with disable_autocast(query.device):
            wide = (
                to_float32_or_wider(upper[0]),
                to_float32_or_wider(upper[1]),
                to_float32_or_wider(value[:, pairwise:]),
            )
            seconds = [to_float32_or_wider(x) for x in seconds]
            values = [to_float32_or_wider(x) for x in values]
            if self.order_type == "factorised":
                results = [
                    self._attend_factorised(
                        *wide, seconds, values, mask, causal, sums, use_cache, output_attentions, aux
                    )
                ]
            else:
                results = [
                    self._attend_higher_order(
                        *wide, seconds, values, mask, causal, hidden_states, output_attentions, aux
                    )
                ]
            if pairwise:
                low = [to_float32_or_wider(x[:, :pairwise]) for x in (query, key, value)]
                results.insert(0, self._attend_dot_product(low[0], low[1], low[2], mask, causal, output_attentions))
        if output_attentions:
            weights = [each for _, each in results]
            known = [each for each in weights if each is not None]
            aux.weights = torch.cat(known, dim=1) if len(known) == len(weights) else None
        return select_indices(torch.cat([out for out, _ in results], dim=1), query_indices, 2).to(value.dtype), aux

    def _attend_higher_order(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        seconds: list[torch.Tensor],
        values: list[torch.Tensor],
        mask: torch.Tensor | None,
        causal: bool,
        hidden_states: torch.Tensor,
        output_attentions: bool,
        aux: AttentionAux,
    ) -> Result:
        """Attend with the heads of higher order; return output (B, h, queries, d), and weights or None."""
        if self.order_type in EXACT_TYPES:
            return self._attend_pairs(query, key, value, seconds[0], values[0], mask, causal, output_attentions, aux)
        if self.order_type == "contextual":
            return self._attend_contextual(
                query, key, value, seconds[0], mask, causal, hidden_states, output_attentions, aux
            )
        visible = make_visibility_mask(mask, query.size(2), key.size(2), causal, query.device)
        assert self.strengths is not None
        return softmax_attention(
            anova_scores(query, key, self.strengths.to(query.dtype)), value, visible, self.dropout, self.training
        )

    def _attend_pairs(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        second: torch.Tensor,
        second_value: torch.Tensor,
        mask: torch.Tensor | None,
        causal: bool,
        output_attentions: bool,
        aux: AttentionAux,
    ) -> Result:
        """Attend to pairs of keys; return the output (B, h, queries, d) and the weights of first keys, or None.

        `second` and `second_value` are the keys and values of the second token of a pair, of the shape of `key`; `aux`
        receives the weights of pairs, if they are wanted.
        """
        settings: dict[str, Any] = {"score": self.order_type, "distinct": self.distinct}
        settings |= {"rate": self.dropout, "training": self.training}
        if self.order_type == "volume":
            # Of entries of variance 1 the volume is of order d, where trilinear scores are of order 1.
            query = query / self.head_size
        if self.window is None:
            output, pairs = pair_attention(query, key, value, second, second_value, mask, causal, **settings)
            aux.pair_weights = pairs if output_attentions else None
            return output, pairs.sum(dim=-1)  # (B, h, queries, keys), the sum over second keys
        # Keys before every window have nothing to say; queries in front stand for those of earlier steps.
        length = key.size(2)
        num_earlier = length - query.size(2)
        start = max(0, num_earlier - self.window + 1)
        near_key, near_value, near_second, near_product = (x[:, :, start:] for x in (key, value, second, second_value))
        padded_query = nn.functional.pad(query, (0, 0, num_earlier - start, 0))  # (B, h, keys - start, d)
        windows = self.window, self.window
        near_mask = None if mask is None else mask[:, start:]
        output = windowed_pair_attention(
            padded_query, near_key, near_value, near_second, near_product, windows, near_mask, **settings
        )
        return output[:, :, num_earlier - start :], None

    def _attend_factorised(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        seconds: list[torch.Tensor],
        values: list[torch.Tensor],
        mask: torch.Tensor | None,
        causal: bool,
        sums: FactorisedState | None,
        use_cache: bool,
        output_attentions: bool,
        aux: AttentionAux,
    ) -> Result:
        """Attend to tuples of keys through sums over the keys, in linear time; return output and weights, or None.

        `seconds` and `values` are the keys and values of the further tokens of a tuple, `sums` the sums over the keys
        of earlier calls; with `use_cache`, `aux` receives those for the next call.
        """
        features = [F.elu(x) + 1 for x in (query, key, *seconds)]  # not negative, as their sums are denominators
        settings: dict[str, Any] = {"distinct": self.distinct, "chunk_size": CHUNK}
        wants_sums = use_cache and self.has_fixed_size_state
        output, new_sums = factorised_attention(
            features[0], features[1:], [value, *values], mask, causal, state=sums, with_state=wants_sums, **settings
        )
        aux.state = new_sums if wants_sums else aux.state
        weights = None
        if output_attentions and sums is None:
            # Each key's weight is the output where its value is 1 and all others are 0.
            single = torch.eye(key.size(2), dtype=key.dtype, device=key.device).expand(*key.shape[:3], -1)
            ones = [torch.ones_like(single)] * len(values)  # (B, h, keys, keys) each, as `single`
            weights, _ = factorised_attention(features[0], features[1:], [single, *ones], mask, causal, **settings)
        return dropout(output, self.dropout, self.training), weights

    def _attend_contextual(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        second: torch.Tensor,
        mask: torch.Tensor | None,
        causal: bool,
        hidden_states: torch.Tensor,
        output_attentions: bool,
        aux: AttentionAux,
    ) -> Result:
        """Attend to keys that each query shifts by a summary of its context; return output and weights, or None.

        `second` (B, h, keys, d) are the vectors that the summary averages; `aux` receives its weights, if they are
        wanted.
        """
        assert self.strengths is not None
        summary = self._project_to_heads(self.summary_key, hidden_states).to(key.dtype)  # a, (B, h, keys, d)
        modulation = fused_attention(query, summary, second, mask, causal)  # m, (B, h, queries, d)
        if output_attentions:
            aux.context_weights = context_attention_weights(query, summary, mask, causal)
            aux.modulation = modulation
        query = modulate_query(query, modulation, self.strengths.squeeze(1).to(query.dtype))
        return self._attend_dot_product(query, key, value, mask, causal, output_attentions)

    def _attend_dot_product(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        causal: bool,
        output_attentions: bool,
    ) -> Result:
        """Attend to single keys by scaled dot products; return output (B, h, queries, d), and weights if wanted."""
        if output_attentions or (self.dropout and self.training):
            visible = make_visibility_mask(mask, query.size(2), key.size(2), causal, query.device)
            energy = query @ key.mT / self.head_size**0.5
            out, weights = softmax_attention(energy, value, visible, self.dropout, self.training)
            if self.dropout and self.training:
                return out, weights
            # Weights on request do not change the output, not even its rounding.
            return fused_attention(query, key, value, mask, causal), weights
        return fused_attention(query, key, value, mask, causal), None

    def _project_further_keys(self, x: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Project x (B, n, m) to the further keys c, … and values u, … of each higher-order head, (B, heads, n, d)."""
        keys = [
            norm(self._project_to_heads(layer, x))
            for layer, norm in zip(self.second_keys, self.second_norms, strict=True)
        ]
        return keys, [self._project_to_heads(layer, x) for layer in self.second_values]

    def _project_to_heads(self, layer: Any, x: torch.Tensor) -> torch.Tensor:
        """Return `layer(x)`, cut into the heads of higher order: (B, heads of higher order, n, d) of `x` (B, n, m)."""
        # Where autocast is off, what it computed before may have fewer digits than the weights.
        weight = layer.weight
        mapped: Any = layer(x.to(weight.dtype) if isinstance(weight, torch.Tensor) else x)
        heads: torch.Tensor = mapped.unflatten(-1, (self.num_higher_heads, self.head_size)).transpose(1, 2)
        return heads  # (B, heads of higher order, n, d)

    def _check_length(self, length: int) -> None:
        """Raise ValueError for more keys than attention to all pairs may have."""
        if self.order_type in EXACT_TYPES and self.window is None and length > self.max_exact_length:
            raise ValueError(
                f"{self.order_type} attention to all pairs of {length} tokens, more than max_exact_length = "
                f"{self.max_exact_length}: set a `window`, or take order_type 'contextual' or 'factorised', whose cost "
                "does not grow with the cube of the length"
            )


def build_higher_order_attention(config: Any, layer_index: int) -> HigherOrderAttention:
    """Return the attention of a layer as the fields of a `HigherOrderEncoderConfig` describe it."""
    return HigherOrderAttention(
        config.num_heads,
        config.head_size,
        config.hidden_size,
        order_type=config.order_type,
        num_higher_heads=config.num_higher_heads,
        max_exact_length=config.max_exact_length,
        window=config.pair_window,
        distinct=config.distinct,
        order=config.order,
        qk_norm=config.qk_norm,
        dropout=config.attention_dropout,
        memory_length=config.memory_length,
    )
