from __future__ import annotations

from dataclasses import asdict

import pytest
import torch

from ctxzoo.tasks.next_event import NextEventTask
from ctxzoo.tasks.question_answering import QuestionAnsweringTask
from ctxzoo.training.callbacks import SameSettings
from ctxzoo.training.optimizers import OptimizerArgs, build_optimizer


def built_of(optimizer: str, parameters, *, monitor="", lower_is_better=False, fused=False, **args) -> dict:
    how = {"monitor": monitor, "lower_is_better": lower_is_better, "fused": fused}
    return build_optimizer(OptimizerArgs(optimizer=optimizer, **args), parameters, **how)


def weights() -> list[torch.nn.Parameter]:
    return [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(3), requires_grad=False)]


def rates(steps: int, name: str = "adamw", **options) -> list[float]:
    """The learning rate of each step."""
    built = built_of(name, weights(), learning_rate=0.8, **options)
    optimizer, scheduler = built["optimizer"], built["lr_scheduler"]["scheduler"]
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


def test_adadelta_is_the_starters():
    built = built_of("adadelta", weights(), learning_rate=0.5)
    assert set(built) == {"optimizer"}  # a constant rate
    optimizer = built["optimizer"]
    assert isinstance(optimizer, torch.optim.Adadelta)
    assert (optimizer.defaults["lr"], optimizer.defaults["rho"], optimizer.defaults["weight_decay"]) == (0.5, 0.9, 0)


@pytest.mark.parametrize("schedule", [{"warmup_steps": 10}, {"decay_steps": 20}, {"halve_after": 2}])
def test_adadelta_refuses_a_schedule(schedule):
    with pytest.raises(ValueError, match="adadelta keeps its rate; schedules belong to adam, adamw, sgd"):
        built_of("adadelta", weights(), learning_rate=0.5, **schedule)


def test_first_step_of_adadelta_by_hand():
    weight = torch.nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimizer = built_of("adadelta", [weight], learning_rate=0.5)["optimizer"]
    weight.grad = torch.tensor([2.0], dtype=torch.float64)
    optimizer.step()
    # E[g²] = 0.1 · 4; Δ = sqrt(0 + ε) / sqrt(0.4 + ε) · g with ε = 1e-6
    assert weight.item() == pytest.approx(1 - 0.5 * (1e-6 / (0.4 + 1e-6)) ** 0.5 * 2, abs=1e-12)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_steps_of_adam_by_hand(name, fused):
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    optimizer = built_of(name, [weight], learning_rate=0.1, weight_decay=0.3, fused=fused)["optimizer"]
    assert bool(optimizer.defaults["fused"]) == fused
    value, first, second = weight.detach().clone(), torch.zeros(2).double(), torch.zeros(2).double()
    for step, gradient in enumerate(torch.tensor([[2.0, 0.5], [-1.0, 3.0], [0.25, 0.0]]).double(), start=1):
        weight.grad = gradient.clone()
        optimizer.step()
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
    optimizer = built_of("sgd", [weight], learning_rate=0.1, **options)["optimizer"]
    kept = 0.9 if momentum is None else momentum
    value, speed = weight.detach().clone(), torch.zeros(2).double()
    for gradient in torch.tensor([[2.0, 0.5], [-1.0, 3.0], [0.25, 0.0]]).double():
        weight.grad = gradient.clone()
        optimizer.step()
        speed = kept * speed + gradient + 0.3 * value
        value = value - 0.1 * speed
        torch.testing.assert_close(weight.detach(), value, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "momentum", "message"),
    [
        ("adam", 0.9, r"momentum=0\.9 belongs to sgd; adam has none"),
        ("adadelta", 0.0, r"momentum=0\.0 belongs to sgd; adadelta has none"),
        ("sgd", 1.0, r"momentum=1\.0: expected 0 or more, and less than 1"),
        ("sgd", -0.1, r"momentum=-0\.1: expected 0 or more"),
    ],
)
def test_momentum_out_of_place_is_refused(name, momentum, message):
    with pytest.raises(ValueError, match=message):
        built_of(name, weights(), learning_rate=0.1, momentum=momentum)


def test_the_rate_is_halved_after_epochs_without_a_higher_score():
    built = built_of("sgd", weights(), learning_rate=0.8, halve_after=2, monitor="validation/accuracy")
    assert built["lr_scheduler"]["monitor"] == "validation/accuracy"
    found = []
    for score in (50.0, 60.0, 60.0, 55.0, 60.0, 61.0, 61.0, 60.0, 60.0):
        built["lr_scheduler"]["scheduler"].step(score)
        found.append(built["optimizer"].param_groups[0]["lr"])
    # Two epochs no better than 60, then one; then two no better than 61, and one.
    assert found == pytest.approx([0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.4, 0.2, 0.2])


@pytest.mark.parametrize("other", [{"warmup_steps": 10}, {"decay_steps": 20}])
def test_two_schedules_are_refused(other):
    with pytest.raises(ValueError, match=r"halve_after=2 beside .*: choose one schedule"):
        built_of("sgd", weights(), learning_rate=0.5, halve_after=2, **other)


@pytest.mark.parametrize("name", ["adadelta", "adam", "adamw", "sgd"])
def test_frozen_parameters_are_left_out_and_weight_decay_is_passed_on(name):
    given = weights()
    optimizer = built_of(name, given, learning_rate=0.1, weight_decay=0.3)["optimizer"]
    assert [parameter for group in optimizer.param_groups for parameter in group["params"]] == given[:1]
    assert optimizer.defaults["weight_decay"] == 0.3


def test_adamw_warms_up_and_then_stays():
    assert rates(6, warmup_steps=4) == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8, 0.8])


def test_adamw_decays_linearly_to_zero_after_the_warm_up():
    assert rates(8, warmup_steps=2, decay_steps=6) == pytest.approx([0.4, 0.8, 0.8, 0.6, 0.4, 0.2, 0.0, 0.0])


def test_first_steps_of_adam_by_hand():
    weight = torch.nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimizer = built_of("adam", [weight], learning_rate=0.5, weight_decay=2.0)["optimizer"]
    assert type(optimizer) is torch.optim.Adam
    weight.grad = torch.tensor([-3.0], dtype=torch.float64)
    optimizer.step()
    # The decay is part of the gradient, -3 + 2 · 1, whose size Adam's first step does not see.
    assert weight.item() == pytest.approx(1 + 0.5, abs=1e-7)


def test_adam_has_the_schedule_of_adamw():
    assert rates(6, "adam", warmup_steps=2, decay_steps=6) == rates(6, "adamw", warmup_steps=2, decay_steps=6)


def test_adamw_without_schedule_is_constant():
    assert rates(3) == [0.8] * 3


def test_no_more_steps_than_the_warm_up_has():
    assert rates(3, warmup_steps=2, decay_steps=2) == pytest.approx([0.4, 0.8, 0.0])


def test_the_schedule_moves_every_step():
    assert built_of("adamw", weights(), learning_rate=1.0)["lr_scheduler"]["interval"] == "step"


@pytest.mark.parametrize("rate", [0.0, -0.5])
def test_a_rate_that_is_not_positive_is_refused(rate):
    with pytest.raises(ValueError, match=f"learning_rate={rate}: expected more than 0"):
        built_of("adamw", weights(), learning_rate=rate)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="optimizer='lamb': expected one of adadelta, adam, adamw, sgd"):
        built_of("lamb", weights(), learning_rate=1.0)


def test_the_rate_is_halved_when_a_loss_no_longer_falls():
    options = {"learning_rate": 0.8, "halve_after": 1, "monitor": "validation/nll", "lower_is_better": True}
    built = built_of("sgd", weights(), **options)
    plateau = built["lr_scheduler"]["scheduler"]
    rates = []
    for loss in (3.0, 2.0, 1.0, 1.5):
        plateau.step(loss)
        rates.append(built["optimizer"].param_groups[0]["lr"])
    assert rates == [0.8, 0.8, 0.8, 0.4]


def test_an_argument_that_there_is_not_is_refused_with_the_known_ones():
    with pytest.raises(TypeError, match="unexpected argument 'learning_rat'; of the optimizer there are optim"):
        QuestionAnsweringTask({}, learning_rat=0.1)


def test_a_task_has_its_own_defaults_and_the_name_of_an_earlier_version_is_read():
    config = {"model_type": "ctxzoo_time_encoder", "vocab_size": 9, "word_dim": 8, "hidden_size": 8, "num_heads": 2}
    assert QuestionAnsweringTask.default_optimizer == OptimizerArgs(optimizer="adadelta", learning_rate=0.5)
    task = NextEventTask(config, optimiser="sgd", momentum=0.5)
    assert task.optimizer_args == OptimizerArgs(optimizer="sgd", momentum=0.5)
    kept = dict(task.hparams)
    assert "optimiser" not in kept
    assert kept | asdict(task.optimizer_args) == kept


def test_a_lightning_checkpoint_of_an_earlier_version_is_read(tmp_path):
    config = {"model_type": "ctxzoo_time_encoder", "vocab_size": 9, "word_dim": 8, "hidden_size": 8, "num_heads": 2}
    task = NextEventTask(config, optimizer="adamw", learning_rate=0.25)
    hparams = {"optimiser" if name == "optimizer" else name: value for name, value in task.hparams.items()}
    content = {"state_dict": task.state_dict(), "hyper_parameters": hparams, "pytorch-lightning_version": "2.5.5"}
    torch.save(content, tmp_path / "x.ckpt")
    other = NextEventTask.load_from_checkpoint(tmp_path / "x.ckpt")
    assert other.optimizer_args == OptimizerArgs(optimizer="adamw", learning_rate=0.25)


def test_a_run_that_began_with_an_earlier_version_is_resumed():
    began = {"settings": {"optimiser": "sgd", "learning_rate": 0.5}}
    SameSettings({"optimizer": "sgd", "learning_rate": 0.5}).load_state_dict(began)
    with pytest.raises(ValueError, match="optimizer='sgd', not 'adam'"):
        SameSettings({"optimizer": "adam", "learning_rate": 0.5}).load_state_dict(began)
