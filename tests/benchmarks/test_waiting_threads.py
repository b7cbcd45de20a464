"""A quick run gives a whole table, and each training starts with the variables of its row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks import waiting_threads, worker
from benchmarks.reporting import read_rows
from benchmarks.sides import Side
from benchmarks.waiting_threads import ONE_THREAD, SETTINGS, SITUATIONS, UNBOUNDED
from benchmarks.waiting_threads_tables import format_waiting_threads_table as table


@pytest.mark.slow
def test_a_quick_run_gives_a_whole_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CTXZOO_DATA", raising=False)
    passive = {"OMP_WAIT_POLICY": "passive"}  # a machine that runs other tests is not idle
    monkeypatch.setattr(waiting_threads, "SETTINGS", {UNBOUNDED: passive})
    measure = waiting_threads.measure_round_seconds

    def measure_alone(inputs: Path, situation: str, variables: Mapping[str, str | None], threads: int, n: int) -> float:
        """Of the row with one thread, whose processes are started in the same way, only one."""
        return measure(inputs, situation, variables, threads, n) if variables or situation == SITUATIONS[0] else 1.0

    monkeypatch.setattr(waiting_threads, "measure_round_seconds", measure_alone)
    rows = read_rows(waiting_threads.main(["--quick", "--output", str(tmp_path / "waiting.csv")]))
    assert [(row["setting"], row["situation"]) for row in rows] == [
        (name, situation) for name in (UNBOUNDED, ONE_THREAD) for situation in SITUATIONS
    ]
    assert all(float(row["steps_per_second"]) > 0 for row in rows)
    assert [row["ratio"] for row in rows[:3]] == ["1.0"] * 3
    lines = table(rows).splitlines()
    assert lines[0] == f"| setting | {' | '.join(SITUATIONS)} |"
    assert len(lines) == 4


def test_a_quick_run_does_not_replace_results() -> None:
    with pytest.raises(SystemExit):
        waiting_threads.main(["--quick"])


def test_variables_of_a_row_win_and_none_takes_one_away(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Mapping[str, str]] = []
    monkeypatch.setattr(worker.subprocess, "Popen", lambda command, env, **options: started.append(env))
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    variables: list[dict[str, Any]] = [{}, *({"variables": chosen} for chosen in SETTINGS.values())]
    for options in variables:
        worker.Worker(Side("ctxzoo"), 1, **options)
    asked = [(env.get("GOMP_SPINCOUNT"), env.get("OMP_WAIT_POLICY")) for env in started]
    bounds = [(str(spins), None) for spins in (10_000, 3_000, 1_000)]
    assert asked == [("7", "active"), (None, None), *bounds, (None, "passive")]
