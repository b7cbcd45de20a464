"""Scores of single epochs from the log of a training."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.results.learning_curve import losses_by_epoch, scores_by_epoch

LOG = """epoch,step,train/loss,validation/nll,validation/f1
0,0,9.5,,
0,9,,8.0,20.0
1,19,7.5,,
1,19,,nan,35.5
1,19,,nan,36.5
"""


def test_scores_of_every_epoch(tmp_path: Path) -> None:
    log = tmp_path / "metrics.csv"
    log.write_text(LOG)
    assert scores_by_epoch(log, ("nll", "f1", "exact")) == {
        "validation/epoch1/nll": 8.0,
        "validation/epoch1/f1": 20.0,
        "validation/epoch2/f1": 36.5,
    }
    assert scores_by_epoch(log, ("f1",), split="test") == {}


def test_loss_of_every_epoch(tmp_path: Path) -> None:
    log = tmp_path / "metrics.csv"
    log.write_text("epoch,step,train/loss,train/epoch_loss\n0,0,9.5,\n0,9,,8.5\n1,19,7.5,\n1,19,,8.0\n2,29,,inf\n")
    assert losses_by_epoch(log) == {"train/epoch1/loss": 8.5, "train/epoch2/loss": 8.0}


def test_a_cell_that_is_no_number(tmp_path: Path) -> None:
    log = tmp_path / "metrics.csv"
    log.write_text("epoch,step,validation/f1\n0,9,many\n")
    with pytest.raises(ValueError, match="many"):
        scores_by_epoch(log, ("f1",))
