"""Vote prediction: how each legislator votes on a bill."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "VoteColumns",
    "VoteDataModule",
    "VotePredictionTask",
    "VoteScores",
    "evaluate",
    "predict_votes",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.vote_prediction.data import VoteDataModule
    from ctxzoo.tasks.vote_prediction.evaluation import evaluate
    from ctxzoo.tasks.vote_prediction.prediction import predict_votes
    from ctxzoo.tasks.vote_prediction.reader import VoteColumns
    from ctxzoo.tasks.vote_prediction.task import VotePredictionTask, VoteScores
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "VoteColumns": "ctxzoo.tasks.vote_prediction.reader",
            "VoteDataModule": "ctxzoo.tasks.vote_prediction.data",
            "VotePredictionTask": "ctxzoo.tasks.vote_prediction.task",
            "VoteScores": "ctxzoo.tasks.vote_prediction.task",
            "evaluate": "ctxzoo.tasks.vote_prediction.evaluation",
            "predict_votes": "ctxzoo.tasks.vote_prediction.prediction",
        },
    )
