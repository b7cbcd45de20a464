from __future__ import annotations

import pytest
import torch

from ctxzoo.models import ops_unique
from ctxzoo.models.ops_unique import reference_unique_rows, unique_rows


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_rebuilt_from_as_many_distinct_ones_as_a_dictionary_finds(seed):
    rows = torch.randint(0, 3, (500, 4), generator=torch.Generator().manual_seed(seed))
    distinct, inverse = unique_rows(rows)
    expected, _ = reference_unique_rows(rows)
    assert torch.equal(distinct[inverse], rows)
    assert sorted(distinct.tolist()) == sorted(expected.tolist())


def test_the_reference_rebuilds_the_rows_in_order_of_first_occurrence():
    rows = torch.tensor([[2, 1], [0, 0], [2, 1], [1, 2]])
    distinct, inverse = reference_unique_rows(rows)
    assert distinct.tolist() == [[2, 1], [0, 0], [1, 2]]
    assert inverse.tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize(
    "rows",
    [
        torch.zeros(5, 3, dtype=torch.long),
        torch.arange(6).view(6, 1),
        torch.tensor([[1, 2, 3]]),
        torch.tensor([[0, 1], [1, 0], [0, 1]]),
        torch.tensor([[2**62, -(2**63)], [-1, 7], [2**62, -(2**63)]]),
        torch.zeros(0, 4, dtype=torch.long),
    ],
)
def test_edges(rows):
    distinct, inverse = unique_rows(rows)
    assert torch.equal(distinct[inverse], rows)
    assert len({tuple(row) for row in distinct.tolist()}) == len(distinct)


def test_two_rows_with_the_same_hash_stay_apart(monkeypatch):
    # With all multipliers 0 every row has the same hash.
    monkeypatch.setattr(ops_unique.torch, "randint", lambda *args, **kwargs: torch.zeros(2, dtype=torch.long))
    rows = torch.tensor([[1, 2], [3, 4], [1, 2]])
    distinct, inverse = unique_rows(rows)
    assert torch.equal(distinct[inverse], rows)


def test_the_global_generator_is_left_alone():
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    unique_rows(torch.randint(0, 2, (4, 2), generator=torch.Generator()))
    assert torch.equal(torch.rand(4), expected)
