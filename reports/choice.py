"""By which score the best of several rows is chosen: on validation, where that can be done."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

from ctxzoo.results.result import RunResult

Name = TypeVar("Name", bound=Hashable)


def choose_score(rows: Collection[Sequence[RunResult]], key: str) -> str:
    """Return the name of the score by which the best of several rows is chosen: the one on validation, if all have it.

    That is `key` on validation, so that the scores shown played no part in the choice, where every run of every row has
    it. Counts and what is fitted to all training rows have none: then it is `key` itself, which favours the row chosen.

    Args:
        rows: Results of the runs of each row.
        key: Name of the test score that the table shows, such as ``test/accuracy``.
    """
    on_validation = f"validation/{key.partition('/')[2]}"
    return on_validation if all(on_validation in run.metrics for runs in rows for run in runs) else key


def find_best_row(rows: Mapping[Name, Sequence[RunResult]], key: str, *, lower: bool = False) -> Name:
    """Return the name of the best row: by the mean of its runs' validation scores, or test scores without these.

    Args:
        rows: Runs by the name of their row, one row or more.
        key: Name of the score that is shown, as ``test/accuracy``.
        lower: Whether a lower score is better.
    """
    choice, sign = choose_score(rows.values(), key), -1 if lower else 1
    return max(rows, key=lambda name: sign * statistics.fmean(run.metrics[choice] for run in rows[name]))
