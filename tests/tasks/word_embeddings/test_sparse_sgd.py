"""Plain gradient descent, with rows that move no further than they may."""

from __future__ import annotations

import pytest
import torch

from ctxzoo.models.ops_word_embedding import gather_table_rows
from ctxzoo.tasks.word_embeddings.sparse_sgd import RowLimitedSGD


def stepped(start: torch.Tensor, gradient: torch.Tensor, **options: float) -> torch.Tensor:
    parameter = torch.nn.Parameter(start.clone())
    parameter.grad = gradient
    RowLimitedSGD([parameter], **{"longest_step": 0.3, **options}).step()
    return parameter.detach()


@pytest.mark.parametrize("sparse", [False, True])
def test_short_steps_are_those_of_plain_descent(sparse: bool) -> None:
    start, gradient = torch.randn(5, 3), torch.zeros(5, 3)
    gradient[[1, 4]] = torch.randn(2, 3)
    given = gradient.to_sparse(1) if sparse else gradient
    assert torch.allclose(stepped(start, given, lr=0.01), start - 0.01 * gradient)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_long_step_keeps_its_direction(sparse: bool) -> None:
    start, gradient = torch.randn(5, 3), torch.zeros(5, 3)
    gradient[1] = torch.tensor([30.0, -40.0, 0.0])
    gradient[2] = torch.tensor([0.3, 0.0, 0.4])
    given = gradient.to_sparse(1) if sparse else gradient
    moved = stepped(start, given, lr=0.1, longest_step=0.2) - start
    assert torch.allclose(moved[1], torch.tensor([-0.12, 0.16, 0.0]), atol=1e-6)
    assert torch.allclose(moved[2], torch.tensor([-0.03, 0.0, -0.04]), atol=1e-6)
    assert not moved[[0, 3, 4]].any()


def test_the_limit_is_of_the_sum_of_a_rows_gradients() -> None:
    """A row that was read ten times moves by the limit, not by ten times it."""
    table = torch.nn.Parameter(torch.zeros(4, 2))
    gather_table_rows(table, torch.tensor([3] * 10), sparse=True).sum().backward()
    RowLimitedSGD([table], lr=1.0, longest_step=0.5).step()
    assert torch.allclose(table[3].norm(), torch.tensor(0.5))
    assert not table[:3].any()


def test_numbers_of_a_vector_and_of_a_table_by_number_are_rows_of_their_own() -> None:
    assert stepped(torch.zeros(3), torch.tensor([0.1, -5.0, 0.0]), lr=1.0).tolist() == pytest.approx([-0.1, 0.3, 0.0])
    table = torch.nn.Parameter(torch.zeros(4, 2))
    (
        gather_table_rows(table, torch.tensor([1, 2]), torch.tensor([0, 1]), sparse=True) * torch.tensor([7.0, 0.1])
    ).sum().backward()
    RowLimitedSGD([table], lr=1.0, longest_step=0.3).step()
    assert torch.allclose(table, torch.tensor([[0, 0], [-0.3, 0], [0, -0.1], [0, 0]]))


def test_groups_have_rates_of_their_own_and_a_rate_of_0_leaves_all_as_it_is() -> None:
    first, second = (torch.nn.Parameter(torch.zeros(1)) for _ in range(2))
    first.grad = second.grad = torch.ones(1)
    RowLimitedSGD([{"params": [first], "lr": 0.1}, {"params": [second], "lr": 0.0}], lr=1.0, longest_step=1).step()
    assert (first.item(), second.item()) == (pytest.approx(-0.1), 0)


def test_what_is_not_finite_stays_so() -> None:
    assert stepped(torch.zeros(1, 2), torch.tensor([[float("nan"), 1.0]]), lr=1.0).isnan().any()


@pytest.mark.parametrize(("name", "value"), [("lr", -1.0), ("lr", float("nan")), ("longest_step", 0.0)])
def test_bad_values_are_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"{name} is {value}"):
        RowLimitedSGD([torch.nn.Parameter(torch.zeros(1))], **{"lr": 1.0, "longest_step": 1.0, name: value})
