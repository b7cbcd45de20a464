from __future__ import annotations

import math

import torch

from ctxzoo.models.ops_negative_sampling import negative_sampling_loss, reference_negative_sampling_loss


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
