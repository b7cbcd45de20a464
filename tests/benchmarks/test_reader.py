"""The benchmark of the reader: both sides read every length, and what they multiply is counted."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks.reader import count_flops, format_reader_table, main
from benchmarks.reporting import read_rows
from ctxzoo.models.layers_recurrent import MaskedBiRNN


def test_products_of_linear_layers_and_lstms_are_counted() -> None:
    layers = nn.ModuleList([nn.Linear(4, 6), MaskedBiRNN(6, 5)])
    x, mask = torch.randn(2, 3, 4), torch.ones(2, 3, dtype=torch.bool)
    with torch.no_grad():
        counted = count_flops(lambda: layers[1](layers[0](x), mask), layers)
    of_word = 4 * 6 + 2 * 4 * (6 * 5 + 5 * 5)  # a linear layer; four gates of two directions
    assert counted == 2 * of_word * 2 * 3


@pytest.mark.slow
def test_both_readers_read_passages_of_each_length(tmp_path: Path) -> None:
    rows = read_rows(main(["--quick", "--output", str(tmp_path / "rows.csv")]))
    assert [row["words"] for row in rows] == ["20", "1100"]
    assert all(float(row["our_gigaflops"]) > float(row["other_gigaflops"]) > 0 for row in rows)
    assert "| 1,100 |" in format_reader_table(rows)
