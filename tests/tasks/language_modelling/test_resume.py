"""A training with drawn gates that was killed again and again ends as one that was never stopped, to the bit."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import torch

from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.language_modelling.task import CARRIED
from ctxzoo.training.trainer import LAST
from tests.support.killed_runs import execute_apart, killed_at, what_is_left
from tests.support.training_runs import differences
from tests.tasks.language_modelling.test_run import run

EPOCHS, STEPS_PER_EPOCH = 2, 6


def training(folder: Path, cell: str) -> ExperimentRun:
    small = {"batch_size": 20, "bptt": 55, "halve_after": 1, "weight_dropout": 0.1, "checkpoint_every": 2}
    return run(folder, cell, epochs=EPOCHS, **small)


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["lstm", "bibeta5_prior"])
def test_killed_and_resumed_it_is_the_same_bit_for_bit(cell: str, tmp_path: Path) -> None:
    whole, killed = training(tmp_path / "whole", cell), training(tmp_path / "killed", cell)
    assert execute_apart(whole) == 0
    expected = what_is_left(whole)
    assert expected["last.ckpt global_step"] == EPOCHS * STEPS_PER_EPOCH
    # A checkpoint is written behind every second step and at the end of an epoch.
    for step, written in ((3, 2), (6, 6), (9, 8)):
        assert execute_apart(killed_at(killed, step)) == -signal.SIGKILL
        last = torch.load(killed.folder / "lightning" / LAST, weights_only=True)
        assert last["global_step"] == written  # what came behind it is done again
        assert len(last[CARRIED]) == 2  # layers
        assert not killed.results_file.exists()
    assert execute_apart(killed) == 0
    assert differences(what_is_left(killed), expected) == []
    carried = [torch.load(one.folder / "lightning" / LAST, weights_only=True)[CARRIED] for one in (whole, killed)]
    assert differences(*carried) == []
    first, second = (execute(one, resume=True) for one in (whole, killed))
    scores = [name for name in first.metrics if name.startswith(("test/", "validation/"))]
    assert {"test/perplexity", "validation/epoch2/perplexity"} <= set(scores)
    assert {name: first.metrics[name] for name in scores} == {name: second.metrics[name] for name in scores}
