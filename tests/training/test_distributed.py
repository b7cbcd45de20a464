"""Two processes on the CPU (gloo) train, and score as one process does."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from ctxzoo.training.trainer import LAST
from tests.support.subprocesses import check_finished, run_module
from tests.support.training_runs import STEPS_PER_EPOCH

pytestmark = pytest.mark.slow


def run(data: Path, output: Path, **settings: Any) -> list[dict[str, str]]:
    """Train in a program of its own; the rows of its log."""
    options = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
    check_finished(run_module("tests.support.training_runs", data, output, *options))
    with (output / "logs" / "csv" / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def scores(rows: list[dict[str, str]]) -> dict[str, float]:
    last = [row for row in rows if row.get("validation/f1")][-1]
    return {name: float(value) for name, value in last.items() if name.startswith("validation/") and value}


def test_scores_of_two_processes_are_those_of_one(tmp_path):
    # No step changes a weight, so that both score the same model, which has buffers.
    model = {"position_embedding": "sinusoidal"}
    settings = {"epochs": 1, "learning_rate": 1e-30, "eval_batch_size": 3, "ema_decay": 0, "model": model}
    alone = scores(run(tmp_path / "data", tmp_path / "one", **settings))
    both = scores(run(tmp_path / "data", tmp_path / "two", devices=2, strategy="ddp", **settings))
    assert alone["validation/total"] == both["validation/total"] == 16
    assert both == pytest.approx(alone, rel=1e-5)


def test_processes_with_different_numbers_of_batches_end_together(tmp_path):
    settings = {"epochs": 1, "eval_batch_size": 6, "devices": 2, "strategy": "ddp"}  # 3 batches: 2 and 1
    rows = run(tmp_path / "data", tmp_path / "run", **settings, model={"position_embedding": "sinusoidal"})
    assert scores(rows)["validation/total"] == 16


def test_two_processes_train_and_go_on(tmp_path):
    settings = {"devices": 2, "strategy": "ddp", "ema_decay": 0.9}
    run(tmp_path / "data", tmp_path / "run", epochs=1, **settings)
    saved = torch.load(tmp_path / "run" / "lightning" / LAST, weights_only=True)
    # 5 batches: 2 for each process, the fifth is left out.
    assert saved["global_step"] == STEPS_PER_EPOCH // 2
    rows = run(tmp_path / "data", tmp_path / "run", epochs=2, **settings)
    assert [row["epoch"] for row in rows if row.get("validation/f1")] == ["0", "1"]
    assert torch.load(tmp_path / "run" / "lightning" / LAST, weights_only=True)["global_step"] == 4
