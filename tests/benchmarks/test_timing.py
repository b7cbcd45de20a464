"""One thread is timed by the processor, several by the clock."""

from __future__ import annotations

import time

import pytest
import torch

from benchmarks.timing import timed


@pytest.mark.parametrize(("threads", "least", "most"), [(1, 0.0, 0.05), (2, 0.1, 60.0)])
def test_waiting_counts_for_several_threads_only(
    threads: int, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert least <= timed(lambda: time.sleep(0.1), torch.device("cpu")) < most
