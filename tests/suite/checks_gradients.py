"""Gradients against differences, and who receives one (float64)."""

from __future__ import annotations

from typing import Any

import torch

from tests.suite.marks import through_heads
from tests.suite.subjects import Subject, gradients

STEP = 1e-6


def padding_rows(model: torch.nn.Module) -> dict[str, int]:
    """Embedding weights with a row that is never trained -> that row."""
    return {
        f"{name}.weight": module.padding_idx
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Embedding) and module.padding_idx is not None
    }


def direction_like(x: torch.Tensor, untrained_row: int | None, generator: torch.Generator) -> torch.Tensor:
    direction = torch.randn(x.shape, generator=generator, dtype=x.dtype)
    if untrained_row is not None:
        direction[untrained_row] = 0
    return direction / direction.norm()


class GradientChecks:
    @through_heads
    def test_gradients_equal_differences(self, subject: Subject) -> None:
        model = subject.model(dtype=torch.float64).train()
        batch = subject.batch((4, 1, 3), dtype=torch.float64, labels=True)

        def value() -> Any:
            torch.manual_seed(7)  # the same units are dropped each time
            return subject.scalar(model(**batch))

        found = gradients(value(), model)
        untrained = padding_rows(model)
        generator = torch.Generator().manual_seed(8)
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                continue
            direction = direction_like(parameter, untrained.get(name), generator)
            with torch.no_grad():
                start = parameter.clone()
                parameter.copy_(start + STEP * direction)
                above = value()
                parameter.copy_(start - STEP * direction)
                below = value()
                parameter.copy_(start)
            torch.testing.assert_close(
                (found[name] * direction).sum(),
                (above - below) / (2 * STEP),
                rtol=1e-5,
                atol=1e-8,
                msg=lambda text, name=name: f"{name}: {text}",
            )

    def test_every_trained_parameter_receives_a_gradient(self, subject: Subject) -> None:
        model = subject.model(dtype=torch.float64).train()
        subject.scalar(model(**subject.batch((7, 5, 4), dtype=torch.float64, labels=True))).backward()
        prefix = "" if subject.is_base else f"{model.base_model_prefix}."
        frozen = {prefix + name for name in subject.case.frozen(subject.config())}
        assert {name for name, p in model.named_parameters() if p.grad is None} == frozen
        largest = {name: p.grad.abs().max().item() for name, p in model.named_parameters() if p.grad is not None}
        scale = max(largest.values())
        without = {name for name, size in largest.items() if size < 1e-12 * scale}
        if subject.has_loss:
            assert without == set(subject.case.without_gradient(subject.config(), subject.head))
        else:
            # A weighted sum of attention maps and states sees no more than the model's own outputs do.
            assert without <= set(subject.case.without_gradient(subject.config(), subject.head))
        for name, row in padding_rows(model).items():
            gradient = model.get_parameter(name).grad
            assert gradient is None or not gradient[row].any(), f"{name}: row {row} must stay as it is"
