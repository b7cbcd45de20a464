"""Language modelling: which word comes next."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "LanguageModellingDataModule",
    "LanguageModellingScores",
    "LanguageModellingTask",
    "LineScore",
    "continue_text",
    "evaluate",
    "line_scores",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.language_modelling.continuation import continue_text
    from ctxzoo.tasks.language_modelling.data import LanguageModellingDataModule
    from ctxzoo.tasks.language_modelling.task import (
        LanguageModellingScores,
        LanguageModellingTask,
        LineScore,
        evaluate,
        line_scores,
    )
else:
    __getattr__, __dir__ = lazy_exports(__name__)
