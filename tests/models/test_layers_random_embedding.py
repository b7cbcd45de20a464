"""Seeded uniform numbers: the same everywhere, and uniform."""

from __future__ import annotations

import pytest
import torch

from ctxzoo.models.layers_text_input import seeded_uniform
from tests.references.random_embedding import reference_seeded_uniform


@pytest.mark.parametrize("seed", [0, 1, 2**31 + 5, -3])
def test_equals_the_reference_bit_for_bit(seed: int) -> None:
    expected = torch.tensor(reference_seeded_uniform(9, 7, seed), dtype=torch.float64)
    assert torch.equal(seeded_uniform(9, 7, seed).double(), expected)


def test_values_are_those_of_every_release() -> None:
    # Checkpoints without a word table depend on them.
    table = seeded_uniform(3, 3, 0)
    assert table.mul(2**23).long().tolist() == [
        [3043200, -6093241, 5717383],
        [6528473, -5102450, -4427885],
        [-1103922, -2185366, 4458725],
    ]


def test_an_entry_does_not_depend_on_the_size_of_the_table() -> None:
    assert torch.equal(seeded_uniform(50, 40, 7)[:5, :6], seeded_uniform(5, 6, 7))


def test_it_is_uniform_and_independent() -> None:
    table = seeded_uniform(2000, 500, 0).double()
    assert -1 <= table.min() < -0.99999
    assert 0.99999 < table.max() < 1
    # Standard errors: 0.00058 for the mean, 0.0003 for the mean square, 0.022 for a correlation of two rows.
    assert abs(table.mean()) < 0.003
    assert abs(table.square().mean() - 1 / 3) < 0.0015
    assert torch.corrcoef(table[:60]).fill_diagonal_(0).abs().max() < 0.22
    assert torch.corrcoef(table[:, :60].T).fill_diagonal_(0).abs().max() < 0.11
    counts = torch.histc(table.float(), bins=64, min=-1, max=1)
    assert ((counts - table.numel() / 64) / (table.numel() / 64) ** 0.5).abs().max() < 5
    assert abs(table.diagonal().mean()) < 0.15
    assert len(table[:, 0].unique()) > 1990


def test_seeds_give_other_tables() -> None:
    first, second = seeded_uniform(100, 100, 0), seeded_uniform(100, 100, 1)
    assert abs(float((first * second).mean())) < 0.02
    assert not torch.equal(first.sort(dim=0).values, second.sort(dim=0).values)
