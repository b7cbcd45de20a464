"""The sides of `second_order_attention`: a layer, or attention alone, with passes over random tokens."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.passes import LayerRunner
from benchmarks.reporting import Value
from benchmarks.timing import measure_seconds
from ctxzoo.models.layers_contextualizer import Contextualizer
from ctxzoo.models.ops_second_order_attention import Implementation, second_order_attention

Model = Literal["contextualizer", "attention alone", "encoder layer", "self-attention", "GRU"]
HEADS = 8
COPIED_BYTES = 2**30


@dataclass(frozen=True)
class Side:
    """One timed implementation ("side" of a comparison): the Contextualizer or another layer, with its options.

    Attributes:
        label: Name of the side in the printed tables.
        model: What is timed: contextualizer, `num_steps` recurrent steps; attention alone, one call of
            `second_order_attention`; the peers are `nn.TransformerEncoderLayer`, `nn.MultiheadAttention` and a
            bidirectional `nn.GRU`.
        num_steps: Number K of steps, that is of corrections of the context.
        rank: Rank u of the third-order tensor.
        compiled: Whether the model is compiled by torch.compile before it is timed.
        implementation: Name of the implementation of `second_order_attention`.
    """

    label: str
    model: Model
    num_steps: int = 1
    rank: int = 64
    compiled: bool = False
    implementation: Implementation = "auto"

    def columns(self) -> dict[str, Value]:
        """Return the columns that name the layer in results; sides with equal columns must give equal outputs."""
        return {"model": self.model, "num_steps": self.num_steps, "rank": self.rank}


class Steps(nn.Module):
    """K steps from tokens (B, n, m), all real, to c^K (B, m), from c^0 = 1."""

    mask: torch.Tensor
    context: torch.Tensor

    def __init__(self, batch: int, length: int, width: int, rank: int, num_steps: int) -> None:
        """Build a Contextualizer, a mask (batch, length) of real tokens, and first contexts (batch, width) of ones."""
        super().__init__()
        self.steps = Contextualizer(width, rank, num_steps, recurrent=True)
        self.register_buffer("mask", torch.ones(batch, length, dtype=torch.bool))
        self.register_buffer("context", torch.ones(batch, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the last context c^K (B, m) for tokens x (B, n, m)."""
        return self.steps(x, self.mask, self.context)[0][-1]


class StepsBy(Steps):
    """The steps of `Steps` with an implementation of attention that the layer does not choose itself."""

    def __init__(self, *sizes: int, implementation: Implementation) -> None:
        """Build `Steps(*sizes)`, whose attention is computed by `implementation`."""
        super().__init__(*sizes)
        self.implementation = implementation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the last context (B, m) for tokens x (B, n, m), by the chosen implementation."""
        steps, context = self.steps, self.context
        factor = steps.feature_factors[0]
        projected = F.linear(x, steps.token_factors[0])
        for _ in range(steps.num_steps):
            gate = F.linear(context, steps.context_factors[0])
            context = second_order_attention(x, projected, gate, factor, self.mask, self.implementation)
        return context


class AttentionAlone(nn.Module):
    """One call of `second_order_attention` with gradients to x, p, q and W."""

    mask: torch.Tensor

    def __init__(self, batch: int, length: int, width: int, rank: int, implementation: Implementation) -> None:
        """Draw p (batch, length, rank), q (batch, rank) and W (width, rank), the other inputs, as parameters."""
        super().__init__()
        self.projected = nn.Parameter(torch.randn(batch, length, rank))
        self.gate = nn.Parameter(torch.randn(batch, rank))
        self.weight = nn.Parameter(torch.randn(width, rank) / math.sqrt(rank))
        self.register_buffer("mask", torch.ones(batch, length, dtype=torch.bool))
        self.implementation = implementation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the attention's output (B, m) for tokens x (B, n, m)."""
        return second_order_attention(x, self.projected, self.gate, self.weight, self.mask, self.implementation)


class SelfAttention(nn.Module):
    """`nn.MultiheadAttention` of the tokens to themselves, without the weights, which would only cost it time."""

    def __init__(self, width: int) -> None:
        """Build multi-head attention with `HEADS` heads for tokens of `width` numbers."""
        super().__init__()
        self.attention = nn.MultiheadAttention(width, HEADS, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the tokens x (B, n, m) as they attend to each other, (B, n, m)."""
        return self.attention(x, x, x, need_weights=False)[0]


class Gru(nn.Module):
    """A bidirectional GRU, as wide as its input."""

    def __init__(self, width: int) -> None:
        """Build the GRU; each direction has half of `width` units."""
        super().__init__()
        self.gru = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the states (B, n, m) for tokens x (B, n, m)."""
        return self.gru(x)[0]


class Runner(LayerRunner):
    """Runs the passes of one side in its worker process, at one size after another."""

    def prepare(self, batch: int, length: int, width: int, dtype: torch.dtype) -> None:
        """Build the layer and its inputs, and compile the layer where the side is compiled."""
        # What the compiler made for the previous size: it gives up after a few sizes of a function.
        torch.compiler.reset()
        super().prepare(batch, length, width, dtype)
        if self.side.compiled:
            self.module.compile(fullgraph=True, dynamic=False)

    def build(self, batch: int, length: int, width: int) -> nn.Module:
        """Return the layer of this side, see `build_module`."""
        return build_module(self.side, batch, length, width)

    def floor_seconds(self, name: str) -> float | None:
        """Return the least seconds of a pass: the time in which the GPU copies as many bytes as the pass moves.

        It is None for sides with more than attention, and on a CPU, where such an operation waits for arithmetic, not
        for memory.
        """
        if self.side.model != "attention alone" or self.device.type != "cuda":
            return None
        return self.count_moved_bytes(name) / self._measure_bytes_per_second()

    def count_moved_bytes(self, name: str) -> int:
        """Return the bytes that a pass of attention reads and writes at least.

        Forward reads x, p, q, W and the mask and writes the output. Backward reads the same, the output and its
        gradient, and writes the gradients of x, p, q and W.
        """
        inputs: int = self.x.nbytes + sum(parameter.nbytes for parameter in self.module.parameters())
        mask: int = sum(buffer.nbytes for buffer in self.module.buffers())
        output = self.forward().nbytes
        moved = inputs + mask + output
        if name == "forward and backward":
            moved += inputs + mask + 2 * output + inputs
        return moved

    def _measure_bytes_per_second(self) -> float:
        """Return the GPU's memory bandwidth: bytes read and written a second by a copy too large for its caches."""
        source = torch.empty(COPIED_BYTES, dtype=torch.uint8, device=self.device)
        target = torch.empty_like(source)
        target.copy_(source)
        seconds = [measure_seconds(lambda: target.copy_(source), self.device) for _ in range(5)]
        return 2 * COPIED_BYTES / statistics.median(seconds)


def build_module(side: Side, batch: int, length: int, width: int) -> nn.Module:
    """Return the layer that a side times: it maps tokens (B, n, m) to one tensor."""
    if side.model == "attention alone":
        return AttentionAlone(batch, length, width, side.rank, side.implementation)
    if side.model == "contextualizer":
        sizes = batch, length, width, side.rank, side.num_steps
        return Steps(*sizes) if side.implementation == "auto" else StepsBy(*sizes, implementation=side.implementation)
    if side.model == "encoder layer":
        # Dropout would cost the peer time and draw other numbers in each pass.
        return nn.TransformerEncoderLayer(width, HEADS, 4 * width, dropout=0.0, batch_first=True)
    return SelfAttention(width) if side.model == "self-attention" else Gru(width)
