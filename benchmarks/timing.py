"""The timing of sides: in turns, medians over rounds; on CUDA by events, with one thread by the processor's time."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.worker import Worker


def measure_seconds(work: Callable[[], Any], device: torch.device) -> float:
    """Return the seconds that `work` takes: on CUDA by events, with one thread CPU time.

    With one thread they are those of the processor: the same on an idle machine, and not longer where others work too.
    """
    if device.type != "cuda":
        clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
        begin = clock()
        work()
        return clock() - begin
    start_event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call, unused-ignore]
    end_event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call, unused-ignore]
    torch.cuda.synchronize()
    start_event.record()
    work()
    end_event.record()
    torch.cuda.synchronize()
    return float(start_event.elapsed_time(end_event)) / 1000


def measure_median_seconds(workers: Sequence[Worker], phase: str, rounds: int) -> list[float]:
    """Time a phase in all workers in turns; return the median seconds of a round for each."""
    for worker in workers:
        worker.ask("warm_up", phase)
    seconds: list[list[float]] = [[] for _ in workers]
    for _ in range(rounds):
        for index, worker in enumerate(workers):
            seconds[index].append(worker.ask("time_round", phase))
    return [statistics.median(values) for values in seconds]


def parse_thread_counts(requested: Sequence[str]) -> list[int]:
    """Return the numbers of threads on the command line, each once; "all" is every core this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return list(dict.fromkeys(cores if count == "all" else int(count) for count in requested))
