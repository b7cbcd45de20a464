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
    from ctxzoo.data.event_rows import EventColumns
    from ctxzoo.tasks.next_event.data import HistoryDataModule
    from ctxzoo.tasks.next_event.evaluation import evaluate
    from ctxzoo.tasks.next_event.kernel_picture import draw_time_kernel, time_kernel
    from ctxzoo.tasks.next_event.prediction import next_events
    from ctxzoo.tasks.next_event.task import EventScores, NextEventTask
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "EventColumns": "ctxzoo.data.event_rows",
            "EventScores": "ctxzoo.tasks.next_event.task",
            "HistoryDataModule": "ctxzoo.tasks.next_event.data",
            "NextEventTask": "ctxzoo.tasks.next_event.task",
            "draw_time_kernel": "ctxzoo.tasks.next_event.kernel_picture",
            "evaluate": "ctxzoo.tasks.next_event.evaluation",
            "next_events": "ctxzoo.tasks.next_event.prediction",
            "time_kernel": "ctxzoo.tasks.next_event.kernel_picture",
        },
    )
