"""Session recommendation: which item comes next in a session."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "EventColumns",
    "SessionDataModule",
    "SessionRecommendationTask",
    "SessionScore",
    "SessionScores",
    "draw_drift",
    "drift_gates",
    "evaluate",
    "recommend",
    "session_scores",
    "topic_items",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.sequences.data import SessionDataModule
    from ctxzoo.tasks.sequences.kinds import EventColumns
    from ctxzoo.tasks.sequences.pictures import draw_drift, drift_gates, topic_items
    from ctxzoo.tasks.sequences.prediction import recommend
    from ctxzoo.tasks.sequences.task import SessionRecommendationTask, SessionScore, SessionScores, session_scores
    from ctxzoo.tasks.sequences.task import evaluate_sessions as evaluate
else:
    __getattr__, __dir__ = lazy_exports(__name__)
