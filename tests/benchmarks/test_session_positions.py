"""The benchmark of positions: all sides make the same predictions, and it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks.reporting import read_rows
from benchmarks.session_positions import AUTHORS, ONE_PASS, SORTED, list_batch_makers, main
from benchmarks.session_positions_tables import format_session_positions_table
from ctxzoo.tasks.sequences.data import SessionDataModule


@pytest.mark.parametrize("side", [ONE_PASS, AUTHORS, SORTED])
def test_every_side_predicts_every_item_but_the_first_once(side: str) -> None:
    data = SessionDataModule("sample")
    data.setup()
    sessions = data.sequences("train")
    expected = torch.cat([torch.from_numpy(session[1:]) for session in sessions])
    labels = torch.cat([make()["labels"].flatten() for make in list_batch_makers(side, sessions)])
    assert torch.equal(labels[labels > 0].sort().values, expected.sort().values)


@pytest.mark.slow
def test_it_runs_and_its_table_says_whether_the_aim_is_reached(tmp_path: Path) -> None:
    main(["--quick", "--out", str(tmp_path / "a.csv")])
    rows = read_rows(tmp_path / "a.csv")
    assert [(row["model"], row["side"]) for row in rows[:3]] == [
        ("HCRNN-3 + Bi", ONE_PASS),
        ("HCRNN-3 + Bi", AUTHORS),
        ("HCRNN-3 + Bi", SORTED),
    ]
    for row, seconds in zip(rows, (1.0, 4.0, 2.0, 2.0, 4.0, 2.0), strict=True):
        row["seconds"] = str(seconds)
    lines = format_session_positions_table(rows).splitlines()
    assert lines[2].endswith("| 1.0 | 0.5 | 0.25 | reached |")
    assert lines[5].endswith("| 2.0 | 1.0 | 0.50 | missed |")
