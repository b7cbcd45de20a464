from __future__ import annotations

import pytest
import torch

from ctxzoo.training.optimizers import DivideOnRise


def optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)


def rates(scores: list[float], **options) -> list[float]:
    """The rate behind each epoch."""
    of = optimizer()
    schedule = DivideOnRise(of, divisor=2.0, **options)
    found = []
    for score in scores:
        schedule.step(torch.tensor(score))
        found.append(of.param_groups[0]["lr"])
    return found


def test_only_an_epoch_worse_than_each_of_the_three_before_divides():
    # 5.0 is worse than 4.0 but not than 6.0; 7.0 is worse than all three; 6.5 only than two of them.
    assert rates([6.0, 4.0, 5.0, 7.0, 6.5, 7.0]) == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5]
    # 6.0 has left the window of the last three.
    assert rates([6.0, 4.0, 4.0, 4.0, 5.0]) == [1.0, 1.0, 1.0, 1.0, 0.5]


def test_the_first_epochs_never_divide_but_are_compared_with():
    assert rates([1.0, 2.0, 3.0, 4.0], after=2) == [1.0, 1.0, 0.5, 0.25]


def test_of_a_score_that_is_better_when_higher_a_fall_divides():
    assert rates([1.0, 2.0, 3.0, 0.5], lower_is_better=False) == [1.0, 1.0, 1.0, 0.5]


def test_it_goes_on_where_its_state_was_taken():
    of, scores = optimizer(), [6.0, 4.0, 5.0, 7.0, 8.0]
    whole = rates(scores, after=1)
    first = DivideOnRise(of, divisor=2.0, after=1)
    for score in scores[:3]:
        first.step(score)
    second = DivideOnRise(of, divisor=2.0, after=1)
    second.load_state_dict(first.state_dict())
    found = []
    for score in scores[3:]:
        second.step(score)
        found.append(of.param_groups[0]["lr"])
    assert found == whole[3:] == [0.5, 0.25]


@pytest.mark.parametrize("options", [{"divisor": 1.0}, {"divisor": 2.0, "after": -1}, {"divisor": 2.0, "window": 0}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match="expected more than 1, 0 or more, and 1 or more"):
        DivideOnRise(optimizer(), **options)
