"""The sides of `second_order_attention`: a layer, or attention alone, with passes over random tokens."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.memory import allocated_peak_mb
from benchmarks.timing import timed
from ctxzoo.models.layers_contextualizer import Contextualizer
from ctxzoo.models.ops_second_order_attention import Implementation, second_order_attention
from ctxzoo.training.allocator import keep_freed_memory

Pass = Literal["forward", "forward and backward"]
Model = Literal["contextualizer", "attention alone", "encoder layer", "self-attention", "GRU"]
HEADS = 8
SEED = 224
ROUND_SECONDS = 0.1  # a round repeats a shorter pass
COPIED_BYTES = 2**30


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        label: how tables call it.
        model: contextualizer: `num_steps` recurrent steps; attention alone: `second_order_attention` once, its inputs
            given. The peers are `nn.TransformerEncoderLayer`, `nn.MultiheadAttention` and a bidirectional `nn.GRU`.
        num_steps: K.
        rank: u.
        compiled: whether torch.compile comes first.
        implementation: of `second_order_attention`.
    """

    label: str
    model: Model
    num_steps: int = 1
    rank: int = 64
    compiled: bool = False
    implementation: Implementation = "auto"


class Steps(nn.Module):
    """(B, n, m) -> c^K (B, m), all tokens real, from c^0 = 1."""

    mask: torch.Tensor
    context: torch.Tensor

    def __init__(self, batch: int, length: int, width: int, rank: int, num_steps: int) -> None:
        super().__init__()
        self.steps = Contextualizer(width, rank, num_steps, recurrent=True)
        self.register_buffer("mask", torch.ones(batch, length, dtype=torch.bool))
        self.register_buffer("context", torch.ones(batch, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.steps(x, self.mask, self.context)[0][-1]


class StepsBy(Steps):
    """The same with an implementation of attention that the layer does not choose itself."""

    def __init__(self, *sizes: int, implementation: Implementation) -> None:
        super().__init__(*sizes)
        self.implementation = implementation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
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
        super().__init__()
        self.projected = nn.Parameter(torch.randn(batch, length, rank))
        self.gate = nn.Parameter(torch.randn(batch, rank))
        self.weight = nn.Parameter(torch.randn(width, rank) / math.sqrt(rank))
        self.register_buffer("mask", torch.ones(batch, length, dtype=torch.bool))
        self.implementation = implementation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return second_order_attention(x, self.projected, self.gate, self.weight, self.mask, self.implementation)


class SelfAttention(nn.Module):
    """`nn.MultiheadAttention` of the tokens to themselves, without the weights, which would only cost it time."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, HEADS, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.attention(x, x, x, need_weights=False)[0]


class Gru(nn.Module):
    """Bidirectional, as wide as its input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gru = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gru(x)[0]


class Runner:
    """A side, ready to run at one size after another.

    Args:
        side: what to run.
        device: cpu or cuda.
    """

    def __init__(self, side: Side, device: str) -> None:
        self.side = side
        self.device = torch.device(device)
        if device == "cpu":
            keep_freed_memory()  # as in a training by ctxzoo, whatever the layer
        self.module: Any = None
        self.call: Any = None
        self.x: Any = None
        self._passes = 1

    def resize(self, batch: int, length: int, width: int, precision: str) -> None:
        """Draw the layer and (batch, length, width) tokens anew, the same for sides with the same layer.

        Args:
            batch, length, width: B, n, m.
            precision: dtype of weights and tokens: float32 or bfloat16.
        """
        # Without the previous size, and what the compiler made for it: it gives up after a few sizes of a function.
        self.module = self.call = self.x = None
        torch.compiler.reset()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        dtype: torch.dtype = getattr(torch, precision)
        torch.manual_seed(SEED)
        self.module = build_module(self.side, batch, length, width).to(self.device, dtype)
        self.x = torch.randn(batch, length, width).to(self.device, dtype).requires_grad_()
        compiled = self.side.compiled
        self.call = torch.compile(self.module, fullgraph=True, dynamic=False) if compiled else self.module

    def save_answers(self, file: str) -> None:
        """Write output and gradients, by which sides with the same layer are compared, in float32."""
        output = self._forward()
        self._forward_and_backward()
        gradients = {name: parameter.grad for name, parameter in self.module.named_parameters()}
        found = {"output": output, "x": self.x.grad, **gradients}
        torch.save({name: value.float().cpu() for name, value in found.items() if value is not None}, file)

    def warm_up(self, name: Pass) -> None:
        """Untimed passes, and how many of them the rounds that follow will have."""
        work = self._work(name)
        work()
        self._passes = max(1, math.ceil(ROUND_SECONDS / timed(work, self.device)))

    def round(self, name: Pass) -> float:
        """Seconds for one pass, mean over a round."""
        work = self._work(name)

        def several() -> None:
            for _ in range(self._passes):
                work()

        return timed(several, self.device) / self._passes

    def peak_memory(self, name: Pass) -> float:
        """MiB that a pass allocates beyond weights and tokens."""
        work = self._work(name)
        self._forget_gradients()
        return allocated_peak_mb(work, self.device.type)

    def floor_seconds(self, name: Pass) -> float:
        """Seconds that the device needs to move the tensors of a pass, each once, at the speed at which it copies.

        Forward reads x, p, q, W and the mask and writes the output. Backward reads the same, the output and its
        gradient, and writes the gradients of x, p, q and W.
        """
        inputs = self.x.nbytes + sum(parameter.nbytes for parameter in self.module.parameters())
        mask = sum(buffer.nbytes for buffer in self.module.buffers())
        output = self._forward().nbytes
        moved = inputs + mask + output
        if name == "forward and backward":
            moved += inputs + mask + 2 * output + inputs
        return moved / self._bytes_per_second()

    def _bytes_per_second(self) -> float:
        """Bytes read and written by a copy that no cache holds."""
        source = torch.empty(COPIED_BYTES, dtype=torch.uint8, device=self.device)
        target = torch.empty_like(source)
        target.copy_(source)
        seconds = [timed(lambda: target.copy_(source), self.device) for _ in range(5)]
        return 2 * COPIED_BYTES / statistics.median(seconds)

    def _work(self, name: Pass) -> Callable[[], Any]:
        return self._forward if name == "forward" else self._forward_and_backward

    def _forward(self) -> torch.Tensor:
        self.module.eval()
        with torch.inference_mode():
            output: torch.Tensor = self.call(self.x)
        return output

    def _forward_and_backward(self) -> None:
        self.module.train()
        self._forget_gradients()
        self.call(self.x).sum().backward()

    def _forget_gradients(self) -> None:
        self.module.zero_grad(set_to_none=True)
        self.x.grad = None


def build_module(side: Side, batch: int, length: int, width: int) -> nn.Module:
    """The layer of a side: (B, n, m) tokens in, one tensor out."""
    if side.model == "attention alone":
        return AttentionAlone(batch, length, width, side.rank, side.implementation)
    if side.model == "contextualizer":
        sizes = batch, length, width, side.rank, side.num_steps
        return Steps(*sizes) if side.implementation == "auto" else StepsBy(*sizes, implementation=side.implementation)
    if side.model == "encoder layer":
        # Dropout would cost the peer time and draw other numbers in each pass.
        return nn.TransformerEncoderLayer(width, HEADS, 4 * width, dropout=0.0, batch_first=True)
    return SelfAttention(width) if side.model == "self-attention" else Gru(width)
