from __future__ import annotations

import pytest
import torch

from ctxzoo.training.optimisers import build_optimiser


def weights() -> list[torch.nn.Parameter]:
    return [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(3), requires_grad=False)]


def rates(steps: int, name: str = "adamw", **options) -> list[float]:
    """The learning rate of each step."""
    built = build_optimiser(name, weights(), learning_rate=0.8, **options)
    optimiser, scheduler = built["optimizer"], built["lr_scheduler"]["scheduler"]
    found = []
    for _ in range(steps):
        found.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        scheduler.step()
    return found


def test_adadelta_is_the_starters():
    built = build_optimiser("adadelta", weights(), learning_rate=0.5)
    assert set(built) == {"optimizer"}  # a constant rate
    optimiser = built["optimizer"]
    assert isinstance(optimiser, torch.optim.Adadelta)
    assert (optimiser.defaults["lr"], optimiser.defaults["rho"], optimiser.defaults["weight_decay"]) == (0.5, 0.9, 0)


@pytest.mark.parametrize("schedule", [{"warmup_steps": 10}, {"total_steps": 20}, {"halve_after": 2}])
def test_adadelta_refuses_a_schedule(schedule):
    with pytest.raises(ValueError, match="adadelta keeps its rate; schedules belong to adam, adamw, sgd"):
        build_optimiser("adadelta", weights(), learning_rate=0.5, **schedule)


def test_first_step_of_adadelta_by_hand():
    weight = torch.nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimiser = build_optimiser("adadelta", [weight], learning_rate=0.5)["optimizer"]
    weight.grad = torch.tensor([2.0], dtype=torch.float64)
    optimiser.step()
    # E[g²] = 0.1 · 4; Δ = sqrt(0 + ε) / sqrt(0.4 + ε) · g with ε = 1e-6
    assert weight.item() == pytest.approx(1 - 0.5 * (1e-6 / (0.4 + 1e-6)) ** 0.5 * 2, abs=1e-12)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_steps_of_adam_by_hand(name, fused):
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    optimiser = build_optimiser(name, [weight], learning_rate=0.1, weight_decay=0.3, fused=fused)["optimizer"]
    assert bool(optimiser.defaults["fused"]) == fused
    value, first, second = weight.detach().clone(), torch.zeros(2).double(), torch.zeros(2).double()
    for step, gradient in enumerate(torch.tensor([[2.0, 0.5], [-1.0, 3.0], [0.25, 0.0]]).double(), start=1):
        weight.grad = gradient.clone()
        optimiser.step()
        if name == "adamw":
            value = value - 0.1 * 0.3 * value
        else:
            gradient = gradient + 0.3 * value
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        value = value - 0.1 * (first / (1 - 0.9**step)) / ((second / (1 - 0.999**step)).sqrt() + 1e-8)
        torch.testing.assert_close(weight.detach(), value, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("momentum", [None, 0.0, 0.5])
@pytest.mark.parametrize("fused", [False, True])
def test_steps_of_sgd_by_hand(fused, momentum):
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    options = {"weight_decay": 0.3, "momentum": momentum, "fused": fused}
    optimiser = build_optimiser("sgd", [weight], learning_rate=0.1, **options)["optimizer"]
    kept = 0.9 if momentum is None else momentum
    value, speed = weight.detach().clone(), torch.zeros(2).double()
    for gradient in torch.tensor([[2.0, 0.5], [-1.0, 3.0], [0.25, 0.0]]).double():
        weight.grad = gradient.clone()
        optimiser.step()
        speed = kept * speed + gradient + 0.3 * value
        value = value - 0.1 * speed
        torch.testing.assert_close(weight.detach(), value, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "momentum", "message"),
    [
        ("adam", 0.9, r"momentum=0\.9 belongs to sgd; adam has none"),
        ("adadelta", 0.0, r"momentum=0\.0 belongs to sgd; adadelta has none"),
        ("sgd", 1.0, r"momentum must be at least 0 and below 1, got 1\.0"),
        ("sgd", -0.1, r"got -0\.1"),
    ],
)
def test_momentum_out_of_place_is_refused(name, momentum, message):
    with pytest.raises(ValueError, match=message):
        build_optimiser(name, weights(), learning_rate=0.1, momentum=momentum)


def test_the_rate_is_halved_after_epochs_without_a_higher_score():
    built = build_optimiser("sgd", weights(), learning_rate=0.8, halve_after=2, monitor="validation/accuracy")
    assert built["lr_scheduler"]["monitor"] == "validation/accuracy"
    found = []
    for score in (50.0, 60.0, 60.0, 55.0, 60.0, 61.0, 61.0, 60.0, 60.0):
        built["lr_scheduler"]["scheduler"].step(score)
        found.append(built["optimizer"].param_groups[0]["lr"])
    # Two epochs no better than 60, then one; then two no better than 61, and one.
    assert found == pytest.approx([0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.4, 0.2, 0.2])


@pytest.mark.parametrize("other", [{"warmup_steps": 10}, {"total_steps": 20}])
def test_two_schedules_are_refused(other):
    with pytest.raises(ValueError, match=r"halve_after=2 beside .*: choose one schedule"):
        build_optimiser("sgd", weights(), learning_rate=0.5, halve_after=2, **other)


@pytest.mark.parametrize("name", ["adadelta", "adam", "adamw", "sgd"])
def test_frozen_parameters_are_left_out_and_weight_decay_is_passed_on(name):
    given = weights()
    optimiser = build_optimiser(name, given, learning_rate=0.1, weight_decay=0.3)["optimizer"]
    assert [parameter for group in optimiser.param_groups for parameter in group["params"]] == given[:1]
    assert optimiser.defaults["weight_decay"] == 0.3


def test_adamw_warms_up_and_then_stays():
    assert rates(6, warmup_steps=4) == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8, 0.8])


def test_adamw_decays_linearly_to_zero_after_the_warm_up():
    assert rates(8, warmup_steps=2, total_steps=6) == pytest.approx([0.4, 0.8, 0.8, 0.6, 0.4, 0.2, 0.0, 0.0])


def test_first_steps_of_adam_by_hand():
    weight = torch.nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimiser = build_optimiser("adam", [weight], learning_rate=0.5, weight_decay=2.0)["optimizer"]
    assert type(optimiser) is torch.optim.Adam
    weight.grad = torch.tensor([-3.0], dtype=torch.float64)
    optimiser.step()
    # The decay is part of the gradient, -3 + 2 · 1, whose size Adam's first step does not see.
    assert weight.item() == pytest.approx(1 + 0.5, abs=1e-7)


def test_adam_has_the_schedule_of_adamw():
    assert rates(6, "adam", warmup_steps=2, total_steps=6) == rates(6, "adamw", warmup_steps=2, total_steps=6)


def test_adamw_without_schedule_is_constant():
    assert rates(3) == [0.8] * 3


def test_no_more_steps_than_the_warm_up_has():
    assert rates(3, warmup_steps=2, total_steps=2) == pytest.approx([0.4, 0.8, 0.0])


def test_the_schedule_moves_every_step():
    assert build_optimiser("adamw", weights(), learning_rate=1.0)["lr_scheduler"]["interval"] == "step"


@pytest.mark.parametrize("rate", [0.0, -0.5])
def test_a_rate_that_is_not_positive_is_refused(rate):
    with pytest.raises(ValueError, match=f"learning_rate must be positive, got {rate}"):
        build_optimiser("adamw", weights(), learning_rate=rate)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown optimiser 'lamb'; known: adadelta, adam, adamw, sgd"):
        build_optimiser("lamb", weights(), learning_rate=1.0)


def test_the_rate_is_halved_when_a_loss_no_longer_falls():
    options = {"learning_rate": 0.8, "halve_after": 1, "monitor": "validation/nll", "lower_is_better": True}
    built = build_optimiser("sgd", weights(), **options)
    plateau = built["lr_scheduler"]["scheduler"]
    rates = []
    for loss in (3.0, 2.0, 1.0, 1.5):
        plateau.step(loss)
        rates.append(built["optimizer"].param_groups[0]["lr"])
    assert rates == [0.8, 0.8, 0.8, 0.4]
