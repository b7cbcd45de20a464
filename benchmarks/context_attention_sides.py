"""The sides of `context_attention`: attention alone, or with its linear maps, and the time of one more token."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import Cache, DynamicCache, LlamaConfig, LlamaModel

from benchmarks.passes import LayerRunner
from benchmarks.reporting import Value
from ctxzoo.attention_interface import LinearStateCache, use_attention
from ctxzoo.models.configuration_higher_order_encoder import HigherOrderEncoderConfig
from ctxzoo.models.configuration_kernel_encoder import KernelEncoderConfig
from ctxzoo.models.configuration_linear_encoder import LinearEncoderConfig
from ctxzoo.models.layers_encoder import (
    Attention,
    AttentionAux,
    AttentionState,
    MultiHeadAttention,
    concatenate_past,
    make_kv_cache,
)
from ctxzoo.models.layers_higher_order_encoder import build_higher_order_attention
from ctxzoo.models.layers_kernel_encoder import build_kernel_attention
from ctxzoo.models.layers_linear_encoder import build_linear_attention
from ctxzoo.models.ops_encoder import fused_attention
from ctxzoo.models.ops_triton import Implementation

HEADS = 8
STOCK = ("stock", "stock_esa")
PEER = "scaled_dot_product_attention"


@dataclass(frozen=True)
class Side:
    """One timed implementation ("side" of a comparison): an attention mechanism with its options.

    Attributes:
        label: Name of the side in the printed tables.
        model: Attention that is timed: sdpa is `torch.nn.functional.scaled_dot_product_attention`; esa that of a linear
            encoder; hsa that of a higher-order encoder; performer that of performer-pytorch, where it is installed;
            stock and stock_esa a decoder of transformers, as it is or with the attention of a linear encoder; else a
            kind of `KernelEncoderConfig.attention`.
        fields: Further fields of the model's configuration, each as "name=value".
        causal: Whether no token sees later ones.
        alone: Whether the attention alone is timed, with the tokens as queries, keys and values; otherwise linear maps
            make these, and one more map follows.
        implementation: Implementation of the causal sums of esa.
    """

    label: str
    model: str
    fields: tuple[str, ...] = ()
    causal: bool = False
    alone: bool = True
    implementation: Implementation = "auto"

    def columns(self) -> dict[str, Value]:
        """Return the columns that name the layer in results; sides with equal columns must give equal outputs."""
        return {"model": self.model, "fields": " ".join(self.fields), "causal": int(self.causal)}


class FusedAttention(Attention):
    """The peer: torch's fused kernel; its state is all keys and values."""

    def forward(  # type: ignore[override]
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
        causal: bool = False,
        *,
        state: AttentionState | None = None,
        use_cache: bool = False,
        **others: Any,
    ) -> tuple[torch.Tensor, AttentionAux]:
        """Attend by torch's fused kernel to the keys of `state` and the new ones; queries are (B, h, n, d)."""
        key, value, mask = concatenate_past(state, key, value, mask)
        aux = AttentionAux(state=make_kv_cache(key, value, mask, 0) if use_cache else None)
        one = query.size(2) == 1  # sees all keys, and needs no mask
        return fused_attention(query, key, value, None, causal and not one), aux


class PerformerAttention(Attention):
    """The attention of performer-pytorch: Performer's features, 64 of them."""

    def __init__(self, head_size: int, causal: bool) -> None:
        """Build it for heads of `head_size` numbers."""
        super().__init__()
        from performer_pytorch import FastAttention  # optional: pip install performer-pytorch

        self.attention = FastAttention(dim_heads=head_size, nb_features=64, causal=causal)

    def forward(  # type: ignore[override]
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *masks: Any, **others: Any
    ) -> tuple[torch.Tensor, AttentionAux]:
        """Attend to all keys, or, where it is causal, to earlier ones; queries are (B, h, n, d)."""
        return self.attention(query, key, value), AttentionAux()


class StockDecoder(nn.Module):
    """A Llama of two layers by transformers, with its attention or that of a linear encoder, each with its cache."""

    def __init__(self, side: Side, width: int) -> None:
        """Build the decoder for tokens of `width` numbers."""
        super().__init__()
        sizes = {"hidden_size": width, "intermediate_size": 2 * width, "num_attention_heads": HEADS}
        self.model = LlamaModel(LlamaConfig(vocab_size=8, num_hidden_layers=2, pad_token_id=0, **sizes))
        self.make_cache: Callable[[], Cache] = DynamicCache
        if side.model == "stock_esa":
            use_attention(self.model, "ctxzoo_efficient")
            self.make_cache = LinearStateCache

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the last hidden states (B, n, m) for tokens x (B, n, m)."""
        states: torch.Tensor = self.model(inputs_embeds=x, use_cache=False).last_hidden_state
        return states

    def step(self, x: torch.Tensor, state: Cache | None, use_cache: bool = False) -> tuple[torch.Tensor, Any]:
        """Read tokens x (B, n, m) after those in `state`, which stays as it is; return states and the new cache."""
        cache = self.make_cache()
        if state is not None:
            cache.layers = [copy.copy(layer) for layer in state.layers]
        output = self.model(inputs_embeds=x, past_key_values=cache, use_cache=True)
        return output.last_hidden_state, output.past_key_values


class Layer(nn.Module):
    """The attention of a side, from tokens (B, n, m) to one tensor (B, n, m)."""

    def __init__(self, side: Side, length: int, width: int) -> None:
        """Build the attention of `side` for `length` tokens of `width` numbers, with linear maps unless it is alone."""
        super().__init__()
        attention = build_attention(side, length, width)
        self.attention = attention if side.alone else MultiHeadAttention(width, HEADS, attention)
        self.causal, self.alone = side.causal, side.alone

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output (B, n, m) for tokens x (B, n, m)."""
        return self.step(x, None)[0]

    def step(self, x: torch.Tensor, state: AttentionState | None, use_cache: bool = False) -> tuple[torch.Tensor, Any]:
        """Attend from tokens x (B, n, m), after those in `state`; return the output and, on request, the new state."""
        if not self.alone:
            mask = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
            output, aux = self.attention(x, mask, self.causal, state=state, use_cache=use_cache)
            return output, aux.state
        heads = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
        output, aux = self.attention(
            heads, heads, heads, None, self.causal, hidden_states=x, state=state, use_cache=use_cache
        )
        return output, aux.state


def build_attention(side: Side, length: int, width: int) -> Attention:
    """Return the attention module of a side, for texts of `length` tokens of `width` numbers."""
    if side.model == "sdpa":
        return FusedAttention()
    if side.model == "performer":
        return PerformerAttention(width // HEADS, side.causal)
    fields: dict[str, Any] = dict(field.split("=") for field in side.fields)
    fields = {name: int(value) if value.isdigit() else value for name, value in fields.items()}
    fields |= {"hidden_size": width, "num_heads": HEADS, "causal": side.causal}
    if side.model == "esa":
        attention = build_linear_attention(LinearEncoderConfig(**fields), 0)
        attention.implementation = side.implementation
        return attention
    if side.model == "hsa":
        return build_higher_order_attention(HigherOrderEncoderConfig(max_exact_length=length, **fields), 0)
    return build_kernel_attention(KernelEncoderConfig(attention=side.model, **fields), 0)


class Runner(LayerRunner):
    """Runs the passes of one side in its worker process, at one size after another."""

    def build(self, batch: int, length: int, width: int) -> nn.Module:
        """Return the attention layer of this side; the batch plays no part."""
        return StockDecoder(self.side, width) if self.side.model in STOCK else Layer(self.side, length, width)

    def get_pass(self, name: str) -> Callable[[], Any]:
        """Return the function that runs one pass; "one more token" reads a token behind all those of x."""
        if name != "one more token":
            return super().get_pass(name)
        self.module.eval()
        with torch.inference_mode():
            state = self.module.step(self.x, None, use_cache=True)[1]
            token = torch.randn_like(self.x[:, :1])

        def step() -> None:
            with torch.inference_mode():
                self.module.step(token, state, use_cache=True)

        return step
