"""Token classification: one label for each word."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "ClassificationScores",
    "TokenClassificationDataModule",
    "TokenClassificationTask",
    "evaluate",
    "label_fields",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
    from ctxzoo.tasks.token_classification.task import TokenClassificationTask, evaluate
    from ctxzoo.training.classification import ClassificationScores, label_fields
else:
    __getattr__, __dir__ = lazy_exports(__name__)
