"""Layers of the Beta-LSTM's recurrence with random numbers, for the forms of its steps beside each other."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from ctxzoo.models.ops_beta_lstm_gates import CELLS, Gating, draw_log_uniform, draw_noisin_scale
from ctxzoo.models.ops_beta_lstm_steps import StepsImplementation, run_recurrent_steps


class Case:
    """A layer of random numbers, and gradients of all that it gives.

    Args:
        cell: One of `CELLS`.
        length, batch, size: n, B and H.
        device, dtype: Device and type of its tensors.
    """

    def __init__(
        self, cell: str, length: int, batch: int, size: int, device: str = "cpu", dtype: torch.dtype = torch.float64
    ) -> None:
        generator = torch.Generator().manual_seed(length + batch + size)
        blocks = CELLS[cell].blocks + 2

        def drawn(*shape: int) -> torch.Tensor:
            return torch.randn(shape, generator=generator, dtype=torch.float64)

        shapes = [(length, batch, blocks, size), (blocks * size, size), (batch, size), (batch, size)]
        scales = (2.0, 0.3, 1.0, 1.0)
        inputs = [scale * drawn(*shape) for shape, scale in zip(shapes, scales, strict=True)]
        states = [(length, batch, size), (length, batch, size), (length, batch, blocks - 2, size)]
        self.inputs = [tensor.to(device, dtype) for tensor in inputs]
        self.gradients = [drawn(*shape).to(device, dtype) for shape in states]
        self.noise: torch.Tensor | None = None
        self.scale: torch.Tensor | None = None
        like = torch.empty(0)
        if cell == "kumaraswamy":
            self.noise = draw_log_uniform((length, batch, 2, size), like, generator).to(device, dtype)
        if cell == "noisin":
            self.scale = draw_noisin_scale((length, batch, size), like, generator).to(device, dtype)

    def run(
        self, gating: Gating, dtype: torch.dtype | None = None, implementation: StepsImplementation = "auto"
    ) -> list[torch.Tensor]:
        """Return h, c, pre-activations, and the gradients of all inputs, computed in a type; default: its own."""
        kind = dtype or self.inputs[0].dtype
        inputs = [tensor.to(kind, copy=True).requires_grad_() for tensor in self.inputs]
        noise, scale = (None if tensor is None else tensor.to(kind) for tensor in (self.noise, self.scale))
        outputs = run_recurrent_steps(*inputs, gating, noise, scale, implementation)
        gradients = torch.autograd.grad(outputs, inputs, [gradient.to(kind) for gradient in self.gradients])
        return [*(tensor.detach() for tensor in outputs), *gradients]


class RepeatedDraws:
    """It stands in the place of `draw_gammas` and gives the draws of an earlier pass, one for each step.

    Args:
        draws: Draws of the steps.
    """

    def __init__(self, draws: Iterable[torch.Tensor]) -> None:
        self.samples_gates = iter(draws)

    def __call__(self, alpha: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
        return next(self.samples_gates)
