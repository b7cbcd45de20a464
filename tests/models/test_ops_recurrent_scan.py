"""The scan against `nn.LSTM` and `nn.GRU`: values, gradients, and an export that runs at other sizes."""

from __future__ import annotations

import pytest
import torch
from packaging.version import Version
from torch import nn

from ctxzoo.models.layers_recurrent import MaskedBiRNN
from ctxzoo.models.ops_recurrent_scan import recurrent_scan

CELLS = {"lstm": nn.LSTM, "gru": nn.GRU}


def _reference(cell: str) -> tuple[nn.Module, list[torch.Tensor]]:
    torch.manual_seed(3)
    layer = CELLS[cell](5, 4, batch_first=True).double()
    return layer, [layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0]


each_cell_and_size = pytest.mark.parametrize(
    ("cell", "batch", "steps"), [(cell, *size) for cell in CELLS for size in ((3, 6), (1, 1), (2, 1))]
)


@each_cell_and_size
def test_same_values_as_the_library(cell: str, batch: int, steps: int) -> None:
    layer, weights = _reference(cell)
    x = torch.randn(batch, steps, 5, dtype=torch.float64)
    torch.testing.assert_close(recurrent_scan(x, weights, cell), layer(x)[0], rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(Version(torch.__version__) < Version("2.13"), reason="torch 2.11's scan has wrong gradients")
@each_cell_and_size
def test_same_gradients_as_the_library(cell: str, batch: int, steps: int) -> None:
    layer, weights = _reference(cell)
    x = torch.randn(batch, steps, 5, dtype=torch.float64, requires_grad=True)
    probe = torch.randn(batch, steps, 4, dtype=torch.float64)
    expected = torch.autograd.grad((layer(x)[0] * probe).sum(), [x, *weights])
    found = torch.autograd.grad((recurrent_scan(x, weights, cell) * probe).sum(), [x, *weights])
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("cell", CELLS)
def test_exported_layer_runs_at_other_lengths(cell: str) -> None:
    torch.manual_seed(0)
    layer = MaskedBiRNN(5, 4, cell).eval()
    traced = (torch.randn(2, 6, 5), torch.arange(6) < torch.tensor([[6], [3]]))
    dynamic = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    exported = torch.export.export(layer, traced, dynamic_shapes=(dynamic, dynamic)).module()
    for lengths in ([11, 1, 7], [1], [4, 4]):
        steps = max(lengths)
        x, mask = torch.randn(len(lengths), steps, 5), torch.arange(steps) < torch.tensor(lengths).unsqueeze(1)
        torch.testing.assert_close(exported(x, mask), layer(x, mask), rtol=1e-5, atol=1e-6)
