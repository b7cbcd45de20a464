"""Every side of the Beta-LSTM's benchmark does what it says; a quick run gives a whole table; aims are judged."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks import beta_lstm, beta_lstm_sides, by_length, passes
from benchmarks.beta_lstm import COMPARISONS, list_sides
from benchmarks.beta_lstm_sides import Runner, Side
from benchmarks.beta_lstm_tables import format_beta_lstm_tables as tables_of
from benchmarks.passes import LAYER_PASSES
from benchmarks.reporting import read_rows
from ctxzoo.models.ops_beta_lstm_gates import CELLS
from tests.benchmarks.worker_here import WorkerHere


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_length, "Worker", WorkerHere)
    monkeypatch.setattr(passes, "keep_freed_memory", lambda: False)
    monkeypatch.setitem(passes.ROUND_SECONDS, "cpu", 0.0)


def made(side: Side) -> Runner:
    runner = beta_lstm_sides.Runner(side, "cpu")
    runner.resize(2, 3, 4, "float32")
    return runner


def test_every_cell_stands_beside_the_reference() -> None:
    assert {side.cell for side in list_sides()} == {"nn.LSTM", *CELLS}
    assert len({side.label for side in list_sides()}) == len(list_sides())
    sizes = {side.label: side.columns()["parameters"] for side in list_sides()}
    assert sizes["nn.LSTM of 200 units"] == pytest.approx(sizes["bibeta5"], rel=0.01)


@pytest.mark.parametrize("side", list_sides(), ids=lambda side: side.label)
def test_gates_are_drawn_where_the_side_says(side: Side) -> None:
    runner = made(side)
    drawn = not torch.equal(runner.forward(), runner.forward())
    assert drawn == (side.gates == "sample")
    assert set(runner.compute_answers()) == {"output", "x", *dict(runner.module.named_parameters())}


def test_quick_run_writes_a_whole_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beta_lstm, "SIZE", 6)
    output = tmp_path / "quick.csv"
    beta_lstm.main(["--quick", "--output", str(output)])
    rows = read_rows(output)
    assert len(rows) == len(COMPARISONS) * len(list_sides()) * len(LAYER_PASSES)
    assert all(row["seconds"] and row["ratio"] and row["note"] == "" for row in rows)
    text = tables_of(rows)
    assert "**One sequence** (float32, 1 thread, B = 1, n = 4, I = 8)" in text
    assert text.count("at most 2.5") == text.count("at most 1.7") == text.count("at most 1.8 |") == len(COMPARISONS)


def test_aims_are_judged_by_the_training_step() -> None:
    common = {"comparison": "one sequence", "precision": "float32", "threads": "1", "device": "cpu", "note": ""}
    sizes = {"batch_size": "1", "length": "64", "width": "88", "parameters": "1000"}
    rows = [
        {
            **common,
            **sizes,
            "side": side,
            "cell": side.split(",")[0],
            "pass": name,
            "seconds": str(factor * seconds),
            "ratio": ratio,
        }
        for side, factor, times in (
            ("bibeta5", 1, ("0.1", "0.25")),
            ("bibeta5, means", 0.75, ("0.1", "0.4")),
            ("kumaraswamy", 1, ("0.1", "0.625")),
            ("kumaraswamy, means", 2, ("0.1", "0.4")),
        )
        for name, seconds, ratio in zip(LAYER_PASSES, (0.01, 0.004), times, strict=True)
    ]
    text = tables_of(rows)
    assert "| bibeta5 | 1,000 | 10.0 | 10.0 | 25% | 4.00 | 4.00 | 25% | missed: at most 2.5 |" in text
    assert "| kumaraswamy | 1,000 | 10.0 | 10.0 |  | 4.00 | 1.60 |  | met: at most 1.8 |" in text
