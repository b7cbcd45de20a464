from __future__ import annotations

import math

import pytest
import torch

from ctxzoo.models.ops_word_embedding import (
    attention_weights,
    compute_weighted_context,
    gather_table_rows,
    gather_word_windows,
    mean_with_word2vec_gradient,
    negative_sampling_loss,
    uniform_weights,
    window_offsets,
)
from tests.references.word_embedding import reference_context, reference_negative_sampling_loss, reference_word_windows


@pytest.mark.parametrize("window", [1, 2, 5])
@pytest.mark.parametrize("length", [0, 1, 2, 9])
def test_windows_equal_loops(window: int, length: int) -> None:
    generator = torch.Generator().manual_seed(length)
    ids = torch.randint(1, 50, (4, length), generator=generator)
    is_word = torch.rand(4, length, generator=generator) < 0.7
    for found, wanted in zip(
        gather_word_windows(ids, is_word, window), reference_word_windows(ids, is_word, window), strict=True
    ):
        assert found.shape == (4, length, 2 * window)
        assert torch.equal(found, wanted)


def test_columns_of_positions() -> None:
    assert window_offsets(3).tolist() == [-3, -2, -1, 1, 2, 3]
    contexts, present = gather_word_windows(torch.tensor([[7, 8, 9]]), torch.tensor([[True, True, True]]), 2)
    assert contexts[0].tolist() == [[0, 0, 8, 9], [0, 7, 9, 0], [7, 8, 0, 0]]
    assert torch.equal(present, contexts > 0)


def test_what_is_no_word_leaves_a_gap() -> None:
    contexts, present = gather_word_windows(torch.tensor([[7, 1, 9]]), torch.tensor([[True, False, True]]), 1)
    assert contexts[0].tolist() == [[0, 0], [7, 9], [0, 0]]
    assert present[0].tolist() == [[False, False], [True, True], [False, False]]


PRESENT = torch.tensor([[True, True, True, True], [False, True, True, False], [False, False, False, True], [False] * 4])


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


def test_context_equals_loops() -> None:
    logits, words = 3 * drawn(4, 4), drawn(4, 4, 5)
    wanted, wanted_weights = reference_context(logits, words, PRESENT)
    weights = attention_weights(logits, PRESENT)
    torch.testing.assert_close(weights, wanted_weights, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(compute_weighted_context(weights, words), wanted, rtol=1e-12, atol=1e-14)
    assert (weights[PRESENT] > 0).all()
    assert not weights[~PRESENT].any()
    torch.testing.assert_close(weights.sum(dim=-1), torch.tensor([1.0, 1.0, 1.0, 0.0], dtype=torch.float64))


def test_logits_of_0_give_even_weights() -> None:
    weights = uniform_weights(PRESENT, torch.float64)
    torch.testing.assert_close(weights, attention_weights(torch.zeros(4, 4, dtype=torch.float64), PRESENT))
    assert weights[1].tolist() == [0.0, 0.5, 0.5, 0.0]


def test_logits_may_be_large() -> None:
    weights = attention_weights(torch.tensor([[1e30, -1e30, 1e30, 0.0]]), PRESENT[:1])
    assert weights.tolist() == [[0.5, 0.0, 0.5, 0.0]]


def test_gradient_of_word2vec_is_whole_for_every_word() -> None:
    words = drawn(4, 4, 5).requires_grad_()
    mean = compute_weighted_context(uniform_weights(PRESENT, torch.float64), words)
    context = mean_with_word2vec_gradient(mean, words, PRESENT)
    assert torch.equal(context, mean)
    upstream = drawn(4, 5)
    context.backward(upstream)
    torch.testing.assert_close(words.grad, upstream.unsqueeze(1) * PRESENT.unsqueeze(-1))


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
        found = gather_table_rows(table, *indices, sparse=sparse)
        assert torch.equal(found, table.detach()[indices])
        (found**2).sum().backward()
    dense, sparse_gradient = (table.grad for table in tables)
    assert dense is not None
    assert sparse_gradient is not None
    assert sparse_gradient.is_sparse
    assert sparse_gradient.sparse_dim() == len(indices)
    assert torch.equal(sparse_gradient.to_dense(), dense)


@pytest.mark.parametrize("lookup", LOOKUPS)
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adagrad])
def test_optimizers_take_the_same_step(lookup: str, optimizer: type[torch.optim.Optimizer]) -> None:
    shape, indices = LOOKUPS[lookup]
    ends = []
    for sparse in (False, True):
        table = torch.nn.Parameter(torch.linspace(-1, 1, torch.Size(shape).numel()).view(shape))
        step = optimizer([table], lr=0.5)  # type: ignore[call-arg]
        for _ in range(2):
            step.zero_grad()
            gather_table_rows(table, *indices, sparse=sparse).square().sum().backward()
            step.step()
        ends.append(table.detach())
    torch.testing.assert_close(*ends)


def test_loss_equals_loops() -> None:
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(3, 2, 5, generator=generator, dtype=torch.float64)
    rows = torch.randn(3, 4, 5, generator=generator, dtype=torch.float64)
    kept = torch.tensor([[True, True, True], [True, False, True], [False, False, False]])
    found = negative_sampling_loss(states, rows, kept)
    assert found.shape == (3, 2)
    for row in range(3):
        for state in range(2):
            wanted = reference_negative_sampling_loss(states[row, state], rows[row], kept[row])
            assert math.isclose(found[row, state].item(), wanted, rel_tol=1e-12)


def test_loss_stays_finite() -> None:
    states, rows = torch.tensor([[[1e4]]]), torch.tensor([[[-1.0], [1.0]]])
    loss = negative_sampling_loss(states, rows, torch.tensor([[True]]))
    assert loss.item() == 2e4
    assert negative_sampling_loss(-states, rows, torch.tensor([[True]])).item() == 0.0
