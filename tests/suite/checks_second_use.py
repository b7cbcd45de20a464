"""What people do with a model beside training it: quantised, traced by TorchScript, derived twice."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
import torch
from torch import nn

from tests.suite.checks_gradients import STEP, direction_like, padding_rows
from tests.suite.marks import through_heads
from tests.suite.subjects import BEYOND_ANY_OUTPUT, Subject, gradients, named_tensors

RECURRENT = (nn.LSTM, nn.GRU)
REFUSALS = re.compile("no second derivatives|is not implemented")  # ours, and torch's own


def quantised(model: Any) -> Any:
    """The model with the weights of its linear maps, LSTMs and GRUs in int8, as torch makes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch has another library in mind for it
        return torch.ao.quantization.quantize_dynamic(model, {nn.Linear, *RECURRENT}, dtype=torch.qint8)


def map_weights(model: Any) -> int:
    """Numbers in the weights of linear maps in floating point."""
    return sum(layer.weight.numel() for layer in model.modules() if isinstance(layer, nn.Linear))


class SecondUseChecks:
    @through_heads
    def test_a_quantised_model_has_its_maps_in_int8_and_nearly_the_same_outputs(self, subject: Subject) -> None:
        model, batch = subject.model(), subject.batch(labels=True)
        small = quantised(model)
        assert map_weights(small) <= 0.1 * map_weights(model)
        assert not any(isinstance(module, RECURRENT) for module in small.modules())
        expected, found = (named_tensors(each(**batch)) for each in (model, small))
        for name, x in expected.items():
            if x.is_floating_point():
                real = x.abs() < BEYOND_ANY_OUTPUT
                difference = (found[name] - x)[real].norm()
                assert difference <= 0.1 * x[real].norm() + 1e-6, f"{name}: {difference}"

    def test_tracing_for_torchscript_is_refused(self, family: Subject) -> None:
        with pytest.raises(NotImplementedError, match=r"keep the sizes of the example, .* use torch\.export\.export"):
            torch.jit.trace(family.model(), example_kwarg_inputs=family.batch())

    @through_heads
    def test_gradient_checkpointing_changes_no_gradient_or_is_refused(self, subject: Subject) -> None:
        """With dropout: what is computed again drops the same."""
        model, batch = subject.model(dtype=torch.float64).train(), subject.batch(dtype=torch.float64, labels=True)
        if not model.supports_gradient_checkpointing:
            with pytest.raises(ValueError, match=f"{type(model).__name__} does not support .* checkpointing"):
                model.gradient_checkpointing_enable()
            return

        def results() -> tuple[dict[str, torch.Tensor], torch.Tensor]:
            torch.manual_seed(7)
            value = subject.scalar(model(**batch))
            found = gradients(value, model)
            return found, value.detach()

        expected, value = results()
        model.gradient_checkpointing_enable()
        found, again = results()
        assert torch.equal(again, value)
        for name, x in expected.items():
            torch.testing.assert_close(
                found[name], x, rtol=1e-9, atol=1e-12, msg=lambda text, name=name: f"{name}: {text}"
            )
        with pytest.raises(ValueError, match="use_reentrant=True is not supported"):
            model.gradient_checkpointing_enable({"use_reentrant": True})

    @through_heads
    def test_second_derivatives_equal_differences_or_are_refused(self, subject: Subject) -> None:
        """Of a plain sum too, of which the gradient that comes from above needs none itself."""
        model = subject.model(dtype=torch.float64)
        batch = subject.batch((4, 1, 3), dtype=torch.float64, labels=True)
        trained = {name: x for name, x in model.named_parameters() if x.requires_grad}
        parameters, untrained = [*trained.values()], padding_rows(model)
        generator = torch.Generator().manual_seed(8)
        along, across = (
            [direction_like(x, untrained.get(name), generator) for name, x in trained.items()] for _ in range(2)
        )

        def slope(again: bool) -> torch.Tensor:
            found = torch.autograd.grad(
                subject.scalar(model(**batch)), parameters, create_graph=again, allow_unused=True
            )
            return sum((g * v).sum() for g, v in zip(found, along, strict=True) if g is not None)  # type: ignore[return-value]

        def step(size: float) -> None:
            with torch.no_grad():
                for parameter, direction in zip(parameters, across, strict=True):
                    parameter.add_(direction, alpha=size)

        try:
            second = torch.autograd.grad(slope(again=True), parameters, allow_unused=True)
        except RuntimeError as error:
            if REFUSALS.search(str(error)) is None:
                raise
            return
        product = sum((g * v).sum() for g, v in zip(second, across, strict=True) if g is not None)
        if torch.as_tensor(
            product
        ).isnan():  # of the length of a vector at 0, as torch has it: nobody takes it for right
            return
        step(STEP)
        above = slope(again=False)
        step(-2 * STEP)
        below = slope(again=False)
        torch.testing.assert_close(product, (above - below) / (2 * STEP), rtol=1e-4, atol=1e-6)
