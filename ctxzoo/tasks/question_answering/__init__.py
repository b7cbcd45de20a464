"""Extractive question answering."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "QuestionAnsweringTask",
    "SquadDataModule",
    "SquadV2",
    "decode_answers",
    "evaluate",
    "no_answer_score",
]

if TYPE_CHECKING:
    from ctxzoo.metrics import SquadV2
    from ctxzoo.models.ops_answer import decode_answers, no_answer_score
    from ctxzoo.tasks.question_answering.data import SquadDataModule
    from ctxzoo.tasks.question_answering.task import QuestionAnsweringTask, evaluate
else:
    __getattr__, __dir__ = lazy_exports(__name__)
