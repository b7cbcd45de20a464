from __future__ import annotations

import torch

from ctxzoo.models.ops_reverse import reference_reverse_within_length, reverse_within_length

LENGTHS = torch.tensor([5, 3, 1, 0])


def sequences() -> torch.Tensor:
    return torch.arange(1.0, 41.0, dtype=torch.float64).view(4, 5, 2)


def test_known_rows() -> None:
    reversed_rows = reverse_within_length(sequences(), LENGTHS)[:, :, 0].tolist()
    assert reversed_rows[0] == [9, 7, 5, 3, 1]
    assert reversed_rows[1] == [15, 13, 11, 17, 19]  # padding stays where it is
    assert reversed_rows[2] == [21, 23, 25, 27, 29]
    assert reversed_rows[3] == [31, 33, 35, 37, 39]


def test_equals_the_reference_and_is_its_own_inverse() -> None:
    x = torch.randn(4, 5, 3)
    assert torch.equal(reverse_within_length(x, LENGTHS), reference_reverse_within_length(x, LENGTHS))
    assert torch.equal(reverse_within_length(reverse_within_length(x, LENGTHS), LENGTHS), x)


def test_gradients() -> None:
    x = torch.randn(4, 5, 2, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda value: reverse_within_length(value, LENGTHS), x)
