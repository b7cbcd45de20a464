"""Every side of the benchmark runs at tiny sizes, and its tables say whether aims are met."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks import by_length, passes
from benchmarks.context_attention import COMPARISONS, main
from benchmarks.context_attention_sides import PEER, Runner, Side
from benchmarks.context_attention_tables import format_context_attention_tables
from benchmarks.reporting import read_rows
from tests.benchmarks.worker_here import WorkerHere

SIDES = [
    side
    for side in dict.fromkeys(side for comparison in COMPARISONS for side in comparison.sides)
    if side.implementation != "triton"
]


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "keep_freed_memory", lambda: False)
    monkeypatch.setitem(passes.ROUND_SECONDS, "cpu", 0.0)
    monkeypatch.setattr(by_length, "Worker", WorkerHere)


@pytest.mark.parametrize("side", SIDES, ids=lambda side: f"{side.label}-{side.causal}-{side.alone}")
def test_a_pass_reaches_the_tokens(side: Side) -> None:
    if side.model == "performer":
        pytest.importorskip("performer_pytorch")
    runner = Runner(side, "cpu")
    runner.resize(2, 12, 16, "float32")
    runner.warm_up("forward and backward")
    assert runner.time_round("forward and backward") > 0
    assert runner.x.grad.abs().min(dim=-1).values.max() > 0
    assert runner.forward().numel() == 2 * 12 * 16


def test_one_more_token_gives_what_the_whole_text_gives() -> None:
    for comparison in COMPARISONS:
        if comparison.name in ("decoding", "stock decoding"):
            for side in comparison.sides:
                runner = Runner(side, "cpu")
                runner.resize(2, 9, 16, "float32")
                with torch.inference_mode():
                    whole = runner.module(runner.x)
                    state = runner.module.step(runner.x[:, :8], None, use_cache=True)[1]
                    last = runner.module.step(runner.x[:, 8:], state)[0]
                torch.testing.assert_close(last, whole[:, :, -1:] if whole.dim() == 4 else whole[:, -1:])


@pytest.mark.slow  # counting memory takes most of it
def test_a_quick_run_gives_a_table(tmp_path: Path) -> None:
    file = main(["--quick", "--output", str(tmp_path / "found.csv")])
    rows = read_rows(file)
    assert not any(row["side"].endswith("Triton") for row in rows)  # on a CPU
    assert {row["comparison"] for row in rows} == {comparison.name for comparison in COMPARISONS}
    assert all(row["note"] or float(row["seconds"]) > 0 for row in rows)
    assert "**Linear, speed relative to" in format_context_attention_tables(rows)


def test_aims_are_met_or_missed_by_what_was_measured() -> None:
    common = {"device": "cpu", "threads": "1", "precision": "float32", "batch_size": "1", "width": "512", "note": ""}
    common |= {"peak_memory_mb": "1", "reference": PEER, "pass": "forward", "model": "esa"}

    def line(
        comparison: str, side: str, length: int, seconds: float, ratio: float, exponent: str = ""
    ) -> dict[str, str]:
        numbers = {"length": str(length), "seconds": str(seconds), "ratio": str(ratio), "exponent": exponent}
        return {**common, "comparison": comparison, "side": side, **numbers}

    rows = [line("linear", "elu", 4096, 1, 10.5, "1.2"), line("linear", PEER, 4096, 10.5, 1, "2")]
    rows += [line("kernels", "mikan", 512, 1, 0.2), line("kernels", PEER, 512, 0.2, 1)]
    rows += [line("decoding", "elu", n, 1 + n / 1000, 2) for n in (256, 4096)]
    rows += [line("decoding", PEER, n, 1, 1) for n in (256, 4096)]
    text = format_context_attention_tables(rows)
    assert "met: 10.5" in text
    assert "missed: 1.20" in text
    assert "missed: 5.00" in text
    assert "missed: 4.06" in text
