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
    from ctxzoo.tasks.sequences.evaluation import SessionScore, session_scores
    from ctxzoo.tasks.sequences.evaluation import evaluate_sessions as evaluate
    from ctxzoo.tasks.sequences.kinds import EventColumns
    from ctxzoo.tasks.sequences.pictures import draw_drift, drift_gates, topic_items
    from ctxzoo.tasks.sequences.prediction import recommend
    from ctxzoo.tasks.sequences.task import SessionRecommendationTask, SessionScores
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "EventColumns": "ctxzoo.tasks.sequences.kinds",
            "SessionDataModule": "ctxzoo.tasks.sequences.data",
            "SessionRecommendationTask": "ctxzoo.tasks.sequences.task",
            "SessionScore": "ctxzoo.tasks.sequences.evaluation",
            "SessionScores": "ctxzoo.tasks.sequences.task",
            "draw_drift": "ctxzoo.tasks.sequences.pictures",
            "drift_gates": "ctxzoo.tasks.sequences.pictures",
            "evaluate": "ctxzoo.tasks.sequences.evaluation:evaluate_sessions",
            "recommend": "ctxzoo.tasks.sequences.prediction",
            "session_scores": "ctxzoo.tasks.sequences.evaluation",
            "topic_items": "ctxzoo.tasks.sequences.pictures",
        },
    )
