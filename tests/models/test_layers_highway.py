from __future__ import annotations

import pytest
import torch

from ctxzoo.models.layers_highway import Highway


def highway(gate_bias: float, layers: int = 2) -> Highway:
    torch.manual_seed(0)
    module = Highway(4, layers).double()
    for gate in module.gates:
        torch.nn.init.constant_(gate.get_parameter("bias"), gate_bias)
    return module


def test_closed_gates_are_the_identity() -> None:
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    assert torch.equal(highway(-float("inf"))(x), x)
    torch.testing.assert_close(highway(-60.0)(x), x, rtol=0, atol=1e-12)


def test_open_gates_are_plain_layers() -> None:
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    module = highway(float("inf"))
    expected = x
    for transform in module.transforms:
        expected = torch.relu(transform(expected))
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_equals_the_equation(layers: int) -> None:
    x = torch.randn(5, 4, dtype=torch.float64)
    module = highway(0.3, layers)
    expected = x
    for gate, transform in zip(module.gates, module.transforms, strict=True):
        g = 1 / (1 + torch.exp(-(expected @ gate.get_parameter("weight").T + 0.3)))
        t = (expected @ transform.get_parameter("weight").T + transform.get_parameter("bias")).clamp(min=0)
        expected = g * t + (1 - g) * expected
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-14)
