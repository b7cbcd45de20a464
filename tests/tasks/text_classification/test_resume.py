"""A classifier with drawn gates that was killed and resumed ends as one that was never stopped, to the bit."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from ctxzoo.runs.train import ExperimentRun
from tests.support.classifier_runs import classifier_run
from tests.support.killed_runs import execute_apart, killed_at, what_is_left
from tests.support.training_runs import differences

SIZES = {"hidden_size": 5, "locked_dropout": 0.3, "dropout": 0.2}


def training(folder: Path) -> ExperimentRun:
    return classifier_run(folder, architecture="beta_lstm", variant="bibeta5", epochs=2, checkpoint_every=2, **SIZES)


@pytest.mark.slow
def test_killed_and_resumed_it_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    whole, killed = training(tmp_path / "whole"), training(tmp_path / "killed")
    assert execute_apart(whole) == 0
    for step in (3, 6):
        assert execute_apart(killed_at(killed, step)) == -signal.SIGKILL
    assert execute_apart(killed) == 0
    assert what_is_left(whole)["last.ckpt global_step"] == 8
    assert differences(what_is_left(killed), what_is_left(whole)) == []
