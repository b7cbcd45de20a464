"""DataModule and Task of every problem in a Trainer that a user has built, on one device and on two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.plain_trainers import LIGHTNING_PROBLEMS, plain_trainer, scores_and_rows, tiny_run
from tests.support.subprocesses import check_finished, run_module


def on_devices(folder: Path, devices: int, *problems: str) -> list[dict[str, Any]]:
    """What each process of a program finds."""
    check_finished(run_module("tests.support.plain_trainers", folder, devices, *problems, timeout=600))
    return [json.loads((folder / f"{devices}-{rank}.json").read_text()) for rank in range(devices)]


def find_alone(problem: str, folder: Path) -> dict[str, Any]:
    """Return what this process finds by itself."""
    return scores_and_rows(tiny_run(LIGHTNING_PROBLEMS[problem], folder)[0], plain_trainer(folder, devices=1))


def check_shared(problem: str, both: list[dict[str, Any]], by_one: dict[str, Any]) -> None:
    """Two processes score as one does, and predict every row once between them."""
    first, second = (one[problem] for one in both)
    assert first["scores"] == pytest.approx(by_one["scores"], rel=1e-4, abs=1e-4)
    assert first["scores"] == second["scores"]
    assert first["validated"] == second["validated"]
    if problem == "language-modelling":  # one stream, which each reads whole
        assert first["rows"] == second["rows"] == by_one["rows"]
    else:
        assert sorted(first["rows"] + second["rows"]) == sorted(by_one["rows"])
        assert first["rows"]
        assert second["rows"]


@pytest.mark.parametrize("problem", LIGHTNING_PROBLEMS)
def test_one_device_tests_predicts_trains_and_validates(problem: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "cache"))
    run, _ = tiny_run(LIGHTNING_PROBLEMS[problem], tmp_path)
    found = scores_and_rows(run, plain_trainer(tmp_path, devices=1))
    assert found["validated"]
    if problem == "language-modelling":
        return
    rows = found["rows"]
    assert rows
    assert len(set(rows)) == len(rows)


@pytest.mark.slow
def test_two_devices_share_the_rows_of_every_problem(tmp_path: Path) -> None:
    both = on_devices(tmp_path, 2, *LIGHTNING_PROBLEMS)
    for problem in LIGHTNING_PROBLEMS:
        check_shared(problem, both, find_alone(problem, tmp_path))
