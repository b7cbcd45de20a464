from __future__ import annotations

import pytest
import torch

from ctxzoo.models.ops_table_rows import table_rows

WORDS = torch.tensor([[1, 4, 1], [0, 4, 4]])
COLUMNS = torch.tensor([0, 2, 1])
LOOKUPS = {
    "rows": ((5, 2), (WORDS,)),
    "entries": ((5, 3), (WORDS, COLUMNS)),
    "rows_of_matrices": ((3, 5, 2), (COLUMNS, WORDS)),
}


@pytest.mark.parametrize("lookup", LOOKUPS)
def test_sparse_gradient_equals_the_dense_one(lookup: str) -> None:
    shape, indices = LOOKUPS[lookup]
    tables = [torch.arange(float(torch.Size(shape).numel())).view(shape).requires_grad_() for _ in range(2)]
    for table, sparse in zip(tables, (False, True), strict=True):
        found = table_rows(table, *indices, sparse=sparse)
        assert torch.equal(found, table.detach()[indices])
        (found**2).sum().backward()
    dense, sparse_gradient = (table.grad for table in tables)
    assert dense is not None
    assert sparse_gradient is not None
    assert sparse_gradient.is_sparse
    assert sparse_gradient.sparse_dim() == len(indices)
    assert torch.equal(sparse_gradient.to_dense(), dense)


@pytest.mark.parametrize("lookup", LOOKUPS)
@pytest.mark.parametrize("optimiser", [torch.optim.SGD, torch.optim.Adagrad])
def test_optimisers_take_the_same_step(lookup: str, optimiser: type[torch.optim.Optimizer]) -> None:
    shape, indices = LOOKUPS[lookup]
    ends = []
    for sparse in (False, True):
        table = torch.nn.Parameter(torch.linspace(-1, 1, torch.Size(shape).numel()).view(shape))
        step = optimiser([table], lr=0.5)  # type: ignore[call-arg]
        for _ in range(2):
            step.zero_grad()
            table_rows(table, *indices, sparse=sparse).square().sum().backward()
            step.step()
        ends.append(table.detach())
    torch.testing.assert_close(*ends)
