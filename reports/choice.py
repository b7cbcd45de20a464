"""By which score the best of several rows is chosen: on validation, where that can be done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ctxzoo.results.result import RunResult


def chosen_by(rows: Iterable[Sequence[RunResult]], key: str) -> str:
    """Return the score by which the best of some rows is chosen.

    That is `key` on validation, so that the scores shown played no part in the choice, where every run of every row has
    it. Counts and what is fitted to all training rows have none: then it is `key` itself, which favours the row chosen.

    Args:
        rows: Results of the runs of each row.
        key: Name of the test score that the table shows, such as ``test/accuracy``.
    """
    on_validation = f"validation/{key.partition('/')[2]}"
    return on_validation if all(on_validation in run.metrics for runs in rows for run in runs) else key
