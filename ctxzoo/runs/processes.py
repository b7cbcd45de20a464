"""Many trainings, a few at a time, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

Job = TypeVar("Job")
Result = TypeVar("Result")

# In a worker: set when no further job may begin.
_stop: Any = None


def run_in_processes(
    work: Callable[[Job], Result], jobs: Sequence[Job], processes: int, threads: int = 1
) -> Iterator[tuple[Job, Result]]:
    """Call `work(job)` for each job in parallel processes, and yield each job with its result once it is done.

    With one process the jobs run here, in their order. Otherwise processes are started afresh (spawned), so that
    nothing of this one leaks into them. When a job fails, those that have not begun are dropped, those that run are
    waited for, and its error is raised here; so it is on Ctrl-C, which reaches all processes. When this process is
    killed, the others end too.

    Args:
        work: Function of one job, defined at the top of a module so that another process can import it.
        jobs: Arguments for `work`, one for each call; they must be picklable.
        processes: Number of processes that work at the same time, 1 or more.
        threads: Number of torch CPU threads in each process, 1 or more.

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
    stop = context.Event()
    with ProcessPoolExecutor(
        min(processes, len(jobs)), context, initializer=_initialize_process, initargs=(stop, threads)
    ) as pool:
        with _ignore_interrupts():  # the processes start here, and inherit it while they import
            futures = {pool.submit(_run_unless_stopped, work, job): job for job in jobs}
        try:
            dropped: BaseException | None = None
            for future in as_completed(futures):
                error = future.exception()
                if isinstance(error, CancelledError):
                    dropped = error  # the one that failed comes too, perhaps behind it
                    continue
                yield futures[future], future.result()
            if dropped is not None:
                raise dropped
        finally:
            stop.set()  # the pool hands jobs out ahead of time, and cannot take those back
            pool.shutdown(wait=True, cancel_futures=True)


def _initialize_process(stop: Any, threads: int) -> None:
    """Set up a process of the pool: number of threads, signals, and that it ends with its parent."""
    global _stop
    _stop = stop
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    torch.set_num_threads(threads)


def _exit_with_parent() -> None:
    """End this process as soon as its parent process is gone, even if that was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _run_unless_stopped(work: Callable[[Job], Result], job: Job) -> Result:
    """Do a job unless another one failed or the user stopped; if it fails, stop the others."""
    if _stop.is_set():
        raise CancelledError("another job failed, or the run was stopped")
    try:
        return work(job)
    except BaseException:
        _stop.set()  # before this process takes the next job
        raise


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C while this context lasts, also in processes that start in it."""
    if threading.current_thread() is not threading.main_thread():  # others may not set handlers
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
