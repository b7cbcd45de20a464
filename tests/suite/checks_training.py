"""Training works, and repeats itself."""

from __future__ import annotations

from typing import Any

import torch

from tests.suite.marks import needs_loss, through_heads
from tests.suite.subjects import Subject, named_tensors


def _two_steps(subject: Subject, seed: int) -> dict[str, torch.Tensor]:
    model = subject.model().train()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.5)
    torch.manual_seed(seed)
    for step in range(2):
        optimizer.zero_grad()
        subject.scalar(model(**subject.batch(seed=step, labels=True))).backward()
        optimizer.step()
    state: dict[str, torch.Tensor] = model.state_dict()
    return state


class TrainingChecks:
    @needs_loss
    def test_overfits_four_examples(self, subject: Subject) -> None:
        goal = subject.case.overfit
        model: Any = subject.model()  # in eval mode: dropout would hide the bound
        batch = subject.batch((7, 5, 6, 4), labels=True)
        optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=goal.learning_rate)
        with torch.no_grad():
            first = model(**batch).loss.item()
        assert first > 5 * goal.bound, "the bound is too easy"
        for _ in range(goal.steps):
            optimizer.zero_grad()
            loss = model(**batch).loss
            if loss.item() < goal.bound:
                break
            loss.backward()
            optimizer.step()
        assert loss.item() < goal.bound

    def test_eval_repeats_itself_and_draws_nothing(self, subject: Subject) -> None:
        model, batch = subject.model(), subject.batch(labels=True)
        before = torch.get_rng_state()
        first = named_tensors(model(**batch))
        assert torch.equal(torch.get_rng_state(), before)
        second = named_tensors(model(**batch))
        assert all(torch.equal(second[name], x) for name, x in first.items())

    @through_heads
    def test_same_seed_same_training(self, subject: Subject) -> None:
        first, again, other = (_two_steps(subject, seed) for seed in (1, 1, 2))
        assert all(torch.equal(again[name], x) for name, x in first.items())
        differs = any(not torch.equal(other[name], x) for name, x in first.items())
        assert differs == subject.case.draws_in_training, "dropout has no effect, or something draws that should not"
