"""Next event: which event comes next in a history of events at times."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "EventColumns",
    "EventScores",
    "HistoryDataModule",
    "NextEventTask",
    "draw_time_kernel",
    "evaluate",
    "next_events",
    "time_kernel",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.sequences.data import HistoryDataModule
    from ctxzoo.tasks.sequences.kinds import EventColumns
    from ctxzoo.tasks.sequences.pictures import draw_time_kernel, time_kernel
    from ctxzoo.tasks.sequences.prediction import next_events
    from ctxzoo.tasks.sequences.task import EventScores, NextEventTask
    from ctxzoo.tasks.sequences.task import evaluate_histories as evaluate
else:
    __getattr__, __dir__ = lazy_exports(__name__)
