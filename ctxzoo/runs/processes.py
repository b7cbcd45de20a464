"""Work in several processes: many trainings, a few at a time, and parts of lists that a model reads."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

Job = TypeVar("Job")
Result = TypeVar("Result")

MOST_SHARING = 8  # processes; more would wait for the one that hands out
# In a worker: set when no further job may begin.
_stop: Any = None
_work: Any = None  # in a worker of `SharedWork`


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


class SharedWork:
    """Calls a function of a list in copies of this process, each with a part of the list and one thread.

    This process takes a part too. Copies are forks, on Linux alone, so nothing is loaded again; they are made in the
    first call, which therefore comes before anything is computed here: threads of OpenMP do not outlive a fork. An
    error of any part is raised here. Copies end on Ctrl-C, and with this process.

    Args:
        work: Function from a list to a list with one result for each entry, which must be picklable.
        processes: Number of processes, this one among them; 1: all is done here.
    """

    def __init__(self, work: Callable[[Sequence[Any]], list[Any]], processes: int) -> None:
        self.work, self.processes = work, processes
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, entries: Sequence[Any]) -> list[Any]:
        """Return the results of all entries, in their order.

        Raises:
            ChildProcessError: a copy was ended from outside.
        """
        if self.processes == 1:
            return self.work(entries)
        if self._pool is None:
            context = multiprocessing.get_context("fork")
            self._pool = ProcessPoolExecutor(
                self.processes - 1, context, initializer=_initialize_copy, initargs=(self.work,)
            )
        size = max(1, -(-len(entries) // self.processes))
        parts = [entries[start : start + size] for start in range(0, max(1, len(entries)), size)]
        threads = torch.get_num_threads()
        try:
            futures = [self._pool.submit(_work_in_copy, part) for part in parts[1:]]
            torch.set_num_threads(1)
            results = self.work(parts[0])
            return [*results, *(result for future in futures for result in future.result())]
        except BrokenProcessPool as error:
            raise ChildProcessError(
                "a process that shares the work was ended from outside, most often for want of memory; let one "
                "process, with one thread, do it"
            ) from error
        finally:
            torch.set_num_threads(threads)


def count_sharing_processes() -> int:
    """Return how many processes a `SharedWork` should have: as many as torch has threads, 1 where forks are unsafe."""
    return min(MOST_SHARING, torch.get_num_threads()) if sys.platform == "linux" else 1


def _initialize_copy(work: Callable[[Sequence[Any]], list[Any]]) -> None:
    """Set up a copy of `SharedWork`: its function, one thread, silent on Ctrl-C, and that it ends with its parent."""
    global _work
    _work = work
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    torch.set_num_threads(1)


def _work_in_copy(part: Sequence[Any]) -> list[Any]:
    results: list[Any] = _work(part)
    return results


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
