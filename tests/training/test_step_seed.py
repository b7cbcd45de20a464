from __future__ import annotations

from types import SimpleNamespace

import torch

from ctxzoo.training.step_seed import StepSeed


def drawn(seed: int = 1, step: int = 0, batch: int = 0, rank: int = 0, world: int = 1) -> tuple[float, ...]:
    trainer = SimpleNamespace(global_step=step, world_size=world, global_rank=rank)
    StepSeed(seed).on_train_batch_start(trainer, None, None, batch)
    return tuple(torch.rand(4).tolist())


def test_numbers_are_a_function_of_the_place():
    torch.manual_seed(0)
    first = drawn(7, 30, 5)
    torch.rand(3)  # whatever happened before
    assert drawn(7, 30, 5) == first


def test_every_place_has_numbers_of_its_own():
    places = [
        (seed, step, step % 7 + extra, rank)
        for seed in (1, 2)
        for step in range(40)
        for extra in range(2)  # batches that share a step, when gradients are accumulated
        for rank in range(3)
    ]
    assert len({drawn(seed, step, batch, rank, world=3) for seed, step, batch, rank in places}) == len(places)


def test_large_seeds_and_steps_are_within_torchs_range():
    assert drawn(2**32 - 1, 10**9, 10**6) != drawn(2**32 - 2, 10**9, 10**6)
