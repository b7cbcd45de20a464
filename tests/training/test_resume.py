"""A run that was stopped anywhere and resumed ends as one that was never stopped, to the bit."""

from __future__ import annotations

import random
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from ctxzoo.training.interrupted import TrainingInterrupted
from ctxzoo.training.trainer import LAST
from tests.support.training_runs import (
    EPOCHS,
    STEPS_PER_EPOCH,
    Stop,
    StoppedError,
    differences,
    result,
    train,
    train_apart,
)

STEPS = EPOCHS * STEPS_PER_EPOCH


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Path, dict[str, Any]]:
    """Data folder and the result of the uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole")
    train(folder / "data", folder / "run")
    return folder / "data", result(folder / "run")


def test_two_runs_are_equal_and_training_moves_the_weights(whole, tmp_path):
    data, expected = whole
    train(data, tmp_path)
    assert differences(result(tmp_path), expected) == []
    assert expected["global_step"] == STEPS
    assert int(expected["averaging_state"]["n_averaged"]) == STEPS + 1
    assert differences(expected["state_dict"], expected["current_model_state"])


@pytest.mark.parametrize(
    ("every", "stops"),
    [
        pytest.param(2, [("step", 1)], marks=pytest.mark.slow),
        (2, [("step", 4), ("step", 8)]),
        (2, [("validation", 5), ("epoch end", 10)]),
        pytest.param(2, [("validation", 15)], marks=pytest.mark.slow),
        (1, [("step", 5), ("step", 6), ("validation", 10)]),  # a checkpoint is due at the last batch of the epoch
        pytest.param(5, [("validation", 5), ("validation", 10)], marks=pytest.mark.slow),
    ],
)
def test_a_run_that_fails_is_resumed_exactly(whole, tmp_path, every, stops):
    data, expected = whole
    for stop in stops:
        with pytest.raises(StoppedError):
            train(data, tmp_path, Stop(0, *stop), checkpoint_every=every)
    train(data, tmp_path, checkpoint_every=every)
    assert differences(result(tmp_path), expected) == []


def test_a_finished_run_that_is_resumed_stays_as_it_is(whole, tmp_path):
    data, expected = whole
    train(data, tmp_path)
    train(data, tmp_path)
    assert differences(result(tmp_path), expected) == []


def test_more_steps_than_asked_for_at_first(whole, tmp_path):
    data, expected = whole
    train(data, tmp_path, max_steps=7)
    assert torch.load(tmp_path / "lightning" / LAST, weights_only=True)["global_step"] == 7
    train(data, tmp_path)
    assert differences(result(tmp_path), expected) == []


@pytest.mark.parametrize(
    ("number", "place", "step"),
    [
        (signal.SIGINT, "step", 3),
        pytest.param(signal.SIGTERM, "step", 7, marks=pytest.mark.slow),
        (signal.SIGINT, "step", 5),
        (signal.SIGUSR1, "step", 4),
        (signal.SIGTERM, "validation", 10),
        (signal.SIGINT, "step", 15),
    ],
)
def test_ctrl_c_leaves_a_checkpoint_of_that_step(whole, tmp_path, number, place, step):
    data, expected = whole
    before = signal.getsignal(number)
    with pytest.raises(TrainingInterrupted, match=f"stopped after step {step}; resuming goes on"):
        train(data, tmp_path, Stop(number, place, step), checkpoint_every=1000)
    assert signal.getsignal(number) == before
    assert torch.load(tmp_path / "lightning" / LAST, weights_only=True)["global_step"] == step
    train(data, tmp_path)
    assert differences(result(tmp_path), expected) == []


@pytest.mark.parametrize(("moment", "step", "left"), [("epoch end", 5, 4), ("validation", 10, 5), ("step", 12, 5)])
def test_epochs_of_less_than_some_seconds_are_not_each_written(whole, tmp_path, moment, step, left):
    """But the first and the last are; what is lost with a kill is done again."""
    data, expected = whole
    every = 2 if left == 4 else 1000
    with pytest.raises(StoppedError):
        train(data, tmp_path, Stop(0, moment, step), checkpoint_every=every, epoch_seconds=1000)
    assert torch.load(tmp_path / "lightning" / LAST, weights_only=True)["global_step"] == left
    train(data, tmp_path, checkpoint_every=every, epoch_seconds=1000)
    assert differences(result(tmp_path), expected) == []


@pytest.mark.parametrize(("place", "step"), [("validation", 10), ("step", 10), ("epoch end", 5)])
def test_ctrl_c_in_a_short_epoch_leaves_its_end(whole, tmp_path, place, step):
    data, expected = whole
    with pytest.raises(TrainingInterrupted, match=f"stopped after step {step}; resuming goes on"):
        train(data, tmp_path, Stop(signal.SIGTERM, place, step), checkpoint_every=1000, epoch_seconds=1000)
    assert torch.load(tmp_path / "lightning" / LAST, weights_only=True)["global_step"] == step
    train(data, tmp_path)
    assert differences(result(tmp_path), expected) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_is_killed_again_and_again_is_resumed_exactly(whole, tmp_path, seed):
    data, expected = whole
    draws = random.Random(seed)
    steps = sorted(draws.sample(range(1, STEPS + 1), 3))
    for step in steps:
        place = draws.choice(["step", "writing"] + ["validation", "epoch end"] * (step % STEPS_PER_EPOCH == 0))
        assert train_apart(data, tmp_path, Stop(signal.SIGKILL, place, step)) == -signal.SIGKILL, (steps, place, step)
    assert train_apart(data, tmp_path) == 0
    assert differences(result(tmp_path), expected) == []


@pytest.fixture
def heeds_ctrl_c():
    """As in a terminal; a session that a script started in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_a_second_ctrl_c_ends_the_run_at_once_and_the_earlier_checkpoint_stays(whole, tmp_path):
    data, expected = whole
    with pytest.raises(SystemExit):  # what Lightning makes of KeyboardInterrupt
        train(data, tmp_path, Stop(signal.SIGINT, "step", 4, times=2))
    assert torch.load(tmp_path / "lightning" / LAST, weights_only=True)["global_step"] == 2
    train(data, tmp_path)
    assert differences(result(tmp_path), expected) == []


@pytest.mark.slow
def test_a_process_killed_while_writing_leaves_the_earlier_checkpoint_whole(whole, tmp_path):
    data, _ = whole
    assert train_apart(data, tmp_path, Stop(signal.SIGKILL, "writing", 8)) == -signal.SIGKILL
    assert torch.load(tmp_path / "lightning" / LAST, weights_only=True)["global_step"] == 6
