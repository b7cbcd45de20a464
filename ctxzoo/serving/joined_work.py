"""One thread in which a model computes, for requests that come side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any

MOST_JOINED = 1024  # entries from which on no further request joins a call


class ModelThread:
    """The thread in which a model computes; whoever calls `run` waits for its turn."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call a function in the thread, in the context of the caller, once those before have ended."""
        return self._executor.submit(copy_context().run, function, *arguments)

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns, or raise what it raises, in the thread."""
        return self.submit(function, *arguments).result()


class JoinedWork:
    """A function of a list of entries, which several callers at once call as one.

    While the model computes, further callers wait; the next call answers all of them. So under load batches grow by
    themselves, and a caller alone waits for nobody.

    Args:
        work: Function from a list to a list with one result for each entry, which depends on that entry alone.
        thread: Thread in which it is called.
    """

    def __init__(self, work: Callable[[Sequence[Any]], list[Any]], thread: ModelThread) -> None:
        self.work, self.thread = work, thread
        self._waiting: SimpleQueue[tuple[Sequence[Any], Future[list[Any]]]] = SimpleQueue()

    def __call__(self, entries: Sequence[Any]) -> list[Any]:
        """Return the results of the entries, in their order; raise the error of these entries, if there is one."""
        if not len(entries):
            return []
        future: Future[list[Any]] = Future()
        self._waiting.put((entries, future))
        self.thread.submit(self._answer_waiting)
        return future.result()

    def _answer_waiting(self) -> None:
        """Answer the callers that wait in one call; nobody may be left, as each has submitted this."""
        callers: list[tuple[Sequence[Any], Future[list[Any]]]] = []
        while sum(len(entries) for entries, _ in callers) < MOST_JOINED:
            try:
                callers.append(self._waiting.get_nowait())
            except Empty:
                break
        if not callers:
            return
        try:
            results = iter(self.work([entry for entries, _ in callers for entry in entries]))
            for entries, future in callers:
                future.set_result([next(results) for _ in entries])
        except Exception:  # whose it is, only that one is told
            for entries, future in callers:
                _answer_alone(self.work, entries, future)


def _answer_alone(work: Callable[[Sequence[Any]], list[Any]], entries: Sequence[Any], future: Future[Any]) -> None:
    """Set the result of one caller's entries, or their error."""
    try:
        future.set_result(work(entries))
    except Exception as error:
        future.set_exception(error)
