"""Word vectors and positions, projected to the model's width."""

import math
from typing import Literal

import torch
from torch import nn
from transformers import initialization as init

from .ops_dropout import dropout
from .ops_position import sinusoidal_positions


class WordEmbedding(nn.Embedding):
    """Word vectors; row 0 (padding) is zero and, when the vectors are given and frozen, so is row 1 (no vector)."""

    def __init__(self, vocab_size: int, width: int, trainable: bool) -> None:
        self.trainable = trainable
        super().__init__(vocab_size, width, padding_idx=0)
        self.weight.requires_grad_(trainable)

    def reset_parameters(self) -> None:
        init.normal_(self.weight, std=0.1)
        if not getattr(self.weight, "_is_hf_initialized", False):
            with torch.no_grad():
                self.weight[: 1 if self.trainable else 2].zero_()


class PositionEmbedding(nn.Module):
    """Adds nothing, sinusoids (Vaswani et al. 2017) or a learned table to (B, n, width).

    Args:
        kind: none, sinusoidal or learned.
        max_positions: rows of the learned table.
        width: d.
        scale: factor of the sinusoids.

    Raises:
        ValueError: in forward, when the input is longer than the learned table.
    """

    def __init__(
        self, kind: Literal["none", "sinusoidal", "learned"], max_positions: int, width: int, scale: float = 1.0
    ) -> None:
        super().__init__()
        self.kind = kind
        self.width = width
        self.scale = scale
        self.max_positions = max_positions
        if kind == "learned":
            self.table = nn.Parameter(torch.empty(max_positions, width))
            self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.kind == "learned":
            # The start of a linear layer's weights with `width` inputs.
            bound = 1 / math.sqrt(self.width)
            init.uniform_(self.table, -bound, bound)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.size(1)
        if self.kind == "none":
            return x
        if self.kind == "sinusoidal":
            return x + self.scale * sinusoidal_positions(length, self.width, device=x.device, dtype=x.dtype)
        if length > self.max_positions:
            raise ValueError(
                f"input of {length} words is longer than max_position_embeddings={self.max_positions}; cut it, read it "
                "in windows, or use position_embedding='sinusoidal'"
            )
        return x + self.table[:length].to(x.dtype)


class WordPositionEmbedding(nn.Module):
    """Word vectors, dropout, projection without bias, positions, dropout (steps 1 and 2 of the paper's input).

    Without positions there is one dropout, on the word vectors.
    """

    def __init__(
        self, words: WordEmbedding, width: int, position: PositionEmbedding, dropout: float, scale: float = 1.0
    ) -> None:
        super().__init__()
        self.words = words
        self.projection = nn.Linear(words.embedding_dim, width, bias=False)
        self.position = position
        self.dropout = dropout
        self.scale = scale

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """(B, n) -> (B, n, width)."""
        words = dropout(self.words(input_ids), self.dropout, training=self.training)
        x: torch.Tensor = self.projection(words) * self.scale
        if self.position.kind == "none":
            return x
        return dropout(self.position(x), self.dropout, training=self.training)
