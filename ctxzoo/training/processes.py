"""Many trainings, a few at a time, each in a process of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

import torch

Job = TypeVar("Job")
Result = TypeVar("Result")


def run_in_processes(
    work: Callable[[Job], Result], jobs: Sequence[Job], processes: int, threads: int = 1
) -> Iterator[tuple[Job, Result]]:
    """Yield each job with `work(job)` as soon as it is done.

    With one process the jobs run here, in their order. Otherwise processes are started afresh (spawned), so that
    nothing of this one leaks into them. When a job fails, those that have not begun are dropped, those that run are
    waited for, and its error is raised here; so it is on Ctrl-C, which reaches all processes.

    Args:
        work: a function of a module, so that another process can import it.
        jobs: picklable.
        processes: how many run at once.
        threads: of torch in each process.

    Raises:
        ValueError: processes or threads below 1.
    """
    if processes < 1 or threads < 1:
        raise ValueError(f"processes={processes}, threads={threads}: both must be at least 1")
    if processes == 1 or len(jobs) < 2:
        torch.set_num_threads(threads)
        for job in jobs:
            yield job, work(job)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(
        min(processes, len(jobs)), context, initializer=torch.set_num_threads, initargs=(threads,)
    )
    with pool:
        futures = {pool.submit(work, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
