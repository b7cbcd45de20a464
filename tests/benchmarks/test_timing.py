"""One thread is timed by the processor, several by the clock."""

from __future__ import annotations

import time
from threading import Barrier
from typing import Any

import pytest
import torch

from benchmarks.by_length import call_for_each_worker
from benchmarks.reporting import build_environment
from benchmarks.timing import measure_seconds


@pytest.mark.parametrize(("threads", "least", "most"), [(1, 0.0, 0.05), (2, 0.1, 60.0)])
def test_waiting_counts_for_several_threads_only(
    threads: int, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert least <= measure_seconds(lambda: time.sleep(0.1), torch.device("cpu")) < most


def test_on_a_gpu_sides_begin_at_the_same_time_and_on_a_cpu_one_after_the_other() -> None:
    sides: list[Any] = ["a", "b", "c"]
    meeting = Barrier(len(sides), timeout=60)
    assert call_for_each_worker(sides, lambda side: (meeting.wait() >= 0, side), "cuda") == [
        (True, side) for side in sides
    ]
    working: list[Any] = []

    def alone(side: Any) -> int:
        working.append(side)
        time.sleep(0.01)
        together = len(working)
        working.remove(side)
        return together

    assert call_for_each_worker(sides, alone, "cpu") == [1, 1, 1]
    assert call_for_each_worker([], alone, "cuda") == []


def test_a_timed_program_keeps_what_python_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    environment = build_environment(OMP_NUM_THREADS="1")
    assert "PYTHONDONTWRITEBYTECODE" not in environment
    assert environment["OMP_NUM_THREADS"] == "1"
