"""A classifier with drawn gates that was killed and resumed ends as one that was never stopped, to the bit."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from tests.support.classifier_runs import classifier_run
from tests.support.killed_runs import execute_apart, killed_at, what_is_left
from tests.support.training_runs import differences

SIZES = {"hidden_size": 5, "locked_dropout": 0.3, "dropout": 0.2}


def training(folder: Path) -> ExperimentRun:
    return classifier_run(folder, architecture="beta_lstm", variant="bibeta5", epochs=2, checkpoint_every=2, **SIZES)


def test_checkpoints_of_a_training_leave_the_linear_part_out_and_go_on_with_it(tmp_path: Path) -> None:
    wide = {"wide": True, "ngram_order": 2, "ngram_buckets": 64, "wide_rows": 50, "ema_decay": 0.9, "wide_dropout": 1.0}
    whole = classifier_run(tmp_path / "whole", epochs=2, **wide)
    execute(whole)
    execute(classifier_run(tmp_path / "parts", epochs=1, **wide))
    longer = classifier_run(tmp_path / "parts", epochs=2, **wide)
    execute(longer, resume=True)
    left = what_is_left(longer)
    assert not any(name.startswith("model.wide.") for name in left["best.ckpt state_dict"])
    assert differences(left, what_is_left(whole)) == []
    models = [run.problem.card.load_pipeline(str(run.checkpoint)).model for run in (whole, longer)]
    assert models[0].wide.weight.any()
    assert differences(models[0].state_dict(), models[1].state_dict()) == []


@pytest.mark.slow
def test_killed_and_resumed_it_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    whole, killed = training(tmp_path / "whole"), training(tmp_path / "killed")
    assert execute_apart(whole) == 0
    for step in (3, 6):
        assert execute_apart(killed_at(killed, step)) == -signal.SIGKILL
    assert execute_apart(killed) == 0
    assert what_is_left(whole)["last.ckpt global_step"] == 8
    assert differences(what_is_left(killed), what_is_left(whole)) == []
