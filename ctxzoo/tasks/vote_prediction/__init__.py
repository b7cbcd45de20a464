"""Vote prediction: how each legislator votes on a bill."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "VoteColumns",
    "VoteDataModule",
    "VotePredictionTask",
    "VoteScores",
    "correlation",
    "draw_ideal_points",
    "draw_votes",
    "evaluate",
    "ideal_points",
    "predict_votes",
    "topic_words",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.vote_prediction.data import VoteDataModule
    from ctxzoo.tasks.vote_prediction.pictures import (
        correlation,
        draw_ideal_points,
        draw_votes,
        ideal_points,
        topic_words,
    )
    from ctxzoo.tasks.vote_prediction.prediction import predict_votes
    from ctxzoo.tasks.vote_prediction.reader import VoteColumns
    from ctxzoo.tasks.vote_prediction.task import VotePredictionTask, VoteScores, evaluate
else:
    __getattr__, __dir__ = lazy_exports(__name__)
