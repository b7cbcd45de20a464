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
    from ctxzoo.data.event_rows import EventColumns
    from ctxzoo.tasks.session_recommendation.data import SessionDataModule
    from ctxzoo.tasks.session_recommendation.drift_picture import draw_drift, drift_gates
    from ctxzoo.tasks.session_recommendation.evaluation import SessionScore, evaluate, session_scores
    from ctxzoo.tasks.session_recommendation.recommendation import recommend
    from ctxzoo.tasks.session_recommendation.task import SessionRecommendationTask, SessionScores
    from ctxzoo.tasks.session_recommendation.topics import topic_items
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "EventColumns": "ctxzoo.data.event_rows",
            "SessionDataModule": "ctxzoo.tasks.session_recommendation.data",
            "SessionRecommendationTask": "ctxzoo.tasks.session_recommendation.task",
            "SessionScore": "ctxzoo.tasks.session_recommendation.evaluation",
            "SessionScores": "ctxzoo.tasks.session_recommendation.task",
            "draw_drift": "ctxzoo.tasks.session_recommendation.drift_picture",
            "drift_gates": "ctxzoo.tasks.session_recommendation.drift_picture",
            "evaluate": "ctxzoo.tasks.session_recommendation.evaluation",
            "recommend": "ctxzoo.tasks.session_recommendation.recommendation",
            "session_scores": "ctxzoo.tasks.session_recommendation.evaluation",
            "topic_items": "ctxzoo.tasks.session_recommendation.topics",
        },
    )
