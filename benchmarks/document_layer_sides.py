"""The sides of `document_attention`: from the states of the words to the vector of a document, or a recurrence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from benchmarks.packing import compute_packed_states_of_mask
from benchmarks.passes import LayerRunner
from benchmarks.reporting import Value
from ctxzoo.models.layers_linear import normal_linear
from ctxzoo.models.layers_recurrent import MaskedBiRNN
from ctxzoo.models.layers_text_baseline import AdditiveScores
from ctxzoo.models.modeling_lama import LearnedContext, LowRankAttention
from ctxzoo.models.ops_triton import Implementation
from ctxzoo.models.ops_words import masked_softmax

ATTENTION_SIZE = 350  # d_a of SAN
# The rows of LAMA's map W_w; None: as many as a state has numbers.
MAP_SIZES: dict[str, int | None] = {
    "LAMA": None,
    "LAMA, W_w of 32 rows": 32,
    "LAMA, W_w of 16 rows": 16,
    "LAMA without W_w": 0,
}


@dataclass(frozen=True)
class Side:
    """One timed implementation ("side" of a comparison): an attention over words or a recurrence, with its options.

    Attributes:
        label: Name of the side in the printed tables.
        model: Layer that is timed: LAMA, with the map W_w, one of 32 or 16 rows, or none; SAN, `AdditiveScores`;
            self-attention, `nn.MultiheadAttention`; GRU, bidirectional, as wide as its input.
        heads: Number of heads m of the attention.
        way: Implementation of the GRU: "ours", `MaskedBiRNN`; "packed" or "unpacked", `nn.GRU` with or without packed
            sequences.
        implementation: Implementation of LAMA's heads.
    """

    label: str
    model: Literal[
        "LAMA", "LAMA, W_w of 32 rows", "LAMA, W_w of 16 rows", "LAMA without W_w", "SAN", "self-attention", "GRU"
    ]
    heads: int = 0
    way: Literal["ours", "packed", "unpacked"] = "ours"
    implementation: Implementation = "auto"

    def columns(self) -> dict[str, Value]:
        """Return the columns that name the layer in results; sides with equal columns must give equal outputs."""
        return {"model": self.model, "heads": self.heads}


class LowRankHeads(nn.Module):
    """Heads of LAMA (Mehta et al. 2019) with a learned context: word states H (B, n, D) to A H (B, m D), no padding."""

    mask: torch.Tensor

    def __init__(
        self, batch: int, length: int, width: int, heads: int, map_size: int, implementation: Implementation
    ) -> None:
        """Build LAMA's attention, behind a tanh layer of `map_size` numbers if that is not 0."""
        super().__init__()
        self.register_buffer("mask", torch.ones(batch, length, dtype=torch.bool))
        self.projection = normal_linear(width, map_size) if map_size else None
        self.attention = LowRankAttention(
            width, heads, rank=1, l2_normalize=True, logit_scale=1.0, word_size=map_size or None
        )
        self.attention.implementation = implementation
        self.context = LearnedContext(width)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the weighted sums A H (B, m D) of word states (B, n, D), head after head."""
        sums: torch.Tensor = self.attention(states, self.context.vector, self.mask, self.projection)[0]
        return sums.flatten(1)


class AdditiveHeads(nn.Module):
    """Heads of SAN, the self-attention of Lin et al. (2017): word states H (B, n, D) to A H (B, m D), no padding."""

    mask: torch.Tensor

    def __init__(self, batch: int, length: int, width: int, heads: int) -> None:
        """Build the additive scores of SAN for word states of `width` numbers."""
        super().__init__()
        self.register_buffer("mask", torch.ones(batch, length, dtype=torch.bool))
        self.scores = AdditiveScores(width, ATTENTION_SIZE, heads)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the weighted sums (B, m D): a softmax of additive scores over the words, times the states."""
        words = self.mask.unsqueeze(1)
        weights = masked_softmax(self.scores(states).transpose(1, 2), words, dim=2) * words
        return (weights.to(states.dtype) @ states).flatten(1)


class SelfAttentionMean(nn.Module):
    """`nn.MultiheadAttention` of the words to themselves, without returning its weights, and the mean of its output.

    It needs a width that its heads divide: a linear map brings the states to the least one that is not below theirs.
    """

    def __init__(self, width: int, heads: int) -> None:
        """Build the attention, behind a map to the next width that the heads divide."""
        super().__init__()
        divided = -(-width // heads) * heads
        self.projection = nn.Linear(width, divided)
        self.attention = nn.MultiheadAttention(divided, heads, batch_first=True)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the mean (B, D') over the words of the self-attention of states (B, n, D)."""
        x = self.projection(states)
        attended: torch.Tensor = self.attention(x, x, x, need_weights=False)[0]
        return attended.mean(dim=1)


class Recurrence(nn.Module):
    """A recurrence from (B, n, D) to (B, n, D), all words real."""

    mask: torch.Tensor

    def __init__(self, batch: int, length: int, width: int, way: str) -> None:
        """Build a bidirectional GRU; `way` is how padding is handled: "unpacked", "packed" or `MaskedBiRNN`'s."""
        super().__init__()
        self.gru = MaskedBiRNN(width, width // 2, cell="gru")
        self.way = way
        self.register_buffer("mask", torch.ones(batch, length, dtype=torch.bool))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the GRU's states (B, n, D) for inputs x (B, n, D), in this side's way."""
        if self.way == "unpacked":
            return self.gru.rnn(x)[0]
        if self.way == "packed":
            return compute_packed_states_of_mask(self.gru.rnn, x, self.mask)
        states: torch.Tensor = self.gru(x, self.mask)
        return states


class Runner(LayerRunner):
    """Runs the passes of one side in its worker process, at one size after another."""

    def build(self, batch: int, length: int, width: int) -> nn.Module:
        """Return the layer that this side's `model` names: a GRU, self-attention, SAN or LAMA."""
        side: Side = self.side
        if side.model == "GRU":
            return Recurrence(batch, length, width, side.way)
        if side.model == "self-attention":
            return SelfAttentionMean(width, side.heads)
        if side.model == "SAN":
            return AdditiveHeads(batch, length, width, side.heads)
        rows = MAP_SIZES[side.model]
        map_size = width if rows is None else rows
        return LowRankHeads(batch, length, width, side.heads, map_size, side.implementation)
