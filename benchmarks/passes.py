"""The work of a side of `by_length` in its process: weights at a size, then passes, timed or with memory counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from benchmarks.memory import measure_allocated_peak_mb
from benchmarks.timing import measure_seconds
from ctxzoo.training.allocator import keep_freed_memory

SEED = 224
ROUND_SECONDS = {"cpu": 0.1, "cuda": 0.02}  # a round repeats a shorter pass; events on a GPU tell apart microseconds
LAYER_PASSES = ("forward", "forward and backward")


class PassRunner:
    """Runs the passes of one side, a timed implementation, at one size after another; base class.

    Args:
        side: Implementation that is timed, with its settings.
        device: Device type, "cpu" or "cuda".
    """

    def __init__(self, side: Any, device: str) -> None:
        """Store the side and the device; `resize` builds the module and its inputs."""
        self.side = side
        self.device = torch.device(device)
        if device == "cpu":
            keep_freed_memory()  # as in a training by ctxzoo, whatever the layer
        self.module: Any = None
        self.x: Any = None
        self._passes = 1

    def resize(self, batch: int, length: int, width: int, precision: str) -> None:
        """Build the side's module and random inputs at a size; equal layers get equal weights.

        Args:
            batch, length, width: Numbers of documents in a batch, of tokens in a document and of features of a token.
            precision: Floating-point type of the pass, float32 or bfloat16.
        """
        self.module = self.x = None  # the previous size, before there is another
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        torch.manual_seed(SEED)
        self.prepare(batch, length, width, getattr(torch, precision))

    def prepare(self, batch: int, length: int, width: int, dtype: torch.dtype) -> None:
        """Set `module`, what is timed, and `x`, its inputs; for subclasses to define."""
        raise NotImplementedError

    def get_pass(self, name: str) -> Callable[[], Any]:
        """Return the function that runs the pass called `name`, such as "forward"; for subclasses to define."""
        raise NotImplementedError

    def compute_answers(self) -> dict[str, torch.Tensor]:
        """Return the tensors in which sides with the same layer must agree; for subclasses to define."""
        raise NotImplementedError

    def save_answers(self, file: str) -> None:
        """Write the tensors of `compute_answers` to a file in float32, for the comparison of sides."""
        torch.save({name: value.float().cpu() for name, value in self.compute_answers().items()}, file)

    def warm_up(self, name: str) -> None:
        """Run a pass untimed, and choose how many passes a timed round has."""
        work = self.get_pass(name)
        work()
        self._passes = max(1, math.ceil(ROUND_SECONDS[self.device.type] / measure_seconds(work, self.device)))

    def time_round(self, name: str) -> float:
        """Return the mean seconds of one pass over a timed round."""
        work = self.get_pass(name)

        def run_passes() -> None:
            for _ in range(self._passes):
                work()

        return measure_seconds(run_passes, self.device) / self._passes

    def measure_peak_memory(self, name: str) -> float:
        """Return the MiB that one pass allocates beyond weights, inputs and the optimizer's state."""
        work = self.get_pass(name)
        self.forget_gradients()
        return measure_allocated_peak_mb(work, self.device.type)

    def forget_gradients(self) -> None:
        """Drop the gradients of the module's weights and of the inputs."""
        self.module.zero_grad(set_to_none=True)
        self.x.grad = None


class LayerRunner(PassRunner):
    """Runs forward and backward passes of a layer from random tokens (B, n, width) to one tensor; base class.

    A forward pass computes no gradients; a backward pass those of the sum of the output with respect to tokens and
    weights.
    """

    def build(self, batch: int, length: int, width: int) -> nn.Module:
        """Return the layer of the side for inputs (batch, length, width); for subclasses to define."""
        raise NotImplementedError

    def prepare(self, batch: int, length: int, width: int, dtype: torch.dtype) -> None:
        """Build the layer, and draw its inputs (batch, length, width), which get gradients."""
        self.module = self.build(batch, length, width).to(self.device, dtype)
        self.x = torch.randn(batch, length, width).to(self.device, dtype).requires_grad_()

    def get_pass(self, name: str) -> Callable[[], Any]:
        """Return the forward pass, or for any other name forward and backward."""
        return self.forward if name == "forward" else self._forward_and_backward

    def compute_answers(self) -> dict[str, torch.Tensor]:
        """Return the output and the gradients of inputs and weights."""
        output = self.forward()
        self._forward_and_backward()
        gradients = {name: parameter.grad for name, parameter in self.module.named_parameters()}
        tensors = {"output": output, "x": self.x.grad, **gradients}
        return {name: value for name, value in tensors.items() if value is not None}

    def forward(self) -> torch.Tensor:
        """Return the layer's output in evaluation mode, without gradients."""
        self.module.eval()
        with torch.inference_mode():
            output: torch.Tensor = self.module(self.x)
        return output

    def _forward_and_backward(self) -> None:
        """Compute the gradients of the sum of the layer's output, in training mode."""
        self.module.train()
        self.forget_gradients()
        self.module(self.x).sum().backward()
