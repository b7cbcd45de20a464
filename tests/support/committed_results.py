"""The committed results, which several files of tests read: parsed once for each process."""

from __future__ import annotations

from functools import cache

from ctxzoo.results.result import RunResult, read_results
from tests.support.subprocesses import REPOSITORY_ROOT

RESULTS = REPOSITORY_ROOT / "results"


@cache
def committed_results() -> tuple[RunResult, ...]:
    return tuple(read_results(RESULTS))
