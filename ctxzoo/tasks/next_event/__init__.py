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
    from ctxzoo.tasks.sequences.evaluation import evaluate_histories as evaluate
    from ctxzoo.tasks.sequences.kinds import EventColumns
    from ctxzoo.tasks.sequences.pictures import draw_time_kernel, time_kernel
    from ctxzoo.tasks.sequences.prediction import next_events
    from ctxzoo.tasks.sequences.task import EventScores, NextEventTask
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "EventColumns": "ctxzoo.tasks.sequences.kinds",
            "EventScores": "ctxzoo.tasks.sequences.task",
            "HistoryDataModule": "ctxzoo.tasks.sequences.data",
            "NextEventTask": "ctxzoo.tasks.sequences.task",
            "draw_time_kernel": "ctxzoo.tasks.sequences.pictures",
            "evaluate": "ctxzoo.tasks.sequences.evaluation:evaluate_histories",
            "next_events": "ctxzoo.tasks.sequences.prediction",
            "time_kernel": "ctxzoo.tasks.sequences.pictures",
        },
    )
