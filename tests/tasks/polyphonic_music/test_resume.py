"""A training with drawn gates that was killed again and again ends as one that was never stopped, to the bit."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import torch

from ctxzoo.models.ops_beta_lstm_steps import COMPILED_FROM
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.training.trainer import LAST
from tests.support.killed_runs import execute_apart, killed_at, what_is_left
from tests.support.training_runs import differences
from tests.tasks.polyphonic_music.test_run import run

EPOCHS, STEPS_PER_EPOCH = 3, 5
CHANGES = {"kl_annealing": "linear", "kl_annealing_epochs": 3, "weight_dropout": 0.1, "divide_after": 0}


def training(folder: Path, cell: str, hidden_size: int) -> ExperimentRun:
    return run(folder, cell, epochs=EPOCHS, hidden_size=hidden_size, checkpoint_every=2, **CHANGES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "hidden_size"), [("bibeta5_prior", 6), ("kumaraswamy", 6), ("g2", 6), ("noisin", 6), ("bibeta5_prior", 64)]
)
def test_killed_and_resumed_it_is_the_same_bit_for_bit(cell: str, hidden_size: int, tmp_path: Path) -> None:
    whole, killed = (training(tmp_path / name, cell, hidden_size) for name in ("whole", "killed"))
    if hidden_size > 6:  # by compiled steps
        pytest.importorskip("numba")
        data = whole.build_data()
        data.setup()
        assert all(batch["labels"][..., 0].numel() * hidden_size >= COMPILED_FROM for batch in data.train_dataloader())
    assert execute_apart(whole) == 0
    expected = what_is_left(whole)
    assert expected["last.ckpt global_step"] == EPOCHS * STEPS_PER_EPOCH
    # A checkpoint is written behind every second step and at the end of an epoch.
    for step, written in ((3, 2), (5, 5), (9, 8)):
        assert execute_apart(killed_at(killed, step)) == -signal.SIGKILL
        last = torch.load(killed.folder / "lightning" / LAST, weights_only=True)
        assert last["global_step"] == written  # what came behind it is done again
        assert not killed.results_file.exists()
    assert execute_apart(killed) == 0
    assert differences(what_is_left(killed), expected) == []
    first, second = (execute(one, resume=True) for one in (whole, killed))
    scores = [name for name in first.metrics if name.startswith(("test/", "validation/"))]
    assert {"test/nll", "validation/epoch3/nll"} <= set(scores)
    assert {name: first.metrics[name] for name in scores} == {name: second.metrics[name] for name in scores}
