"""Text classification."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "Explanation",
    "SequenceClassificationTask",
    "TextClassificationDataModule",
    "TextScores",
    "draw_explanation",
    "evaluate",
    "explanation_html",
    "label_fields",
    "write_explanation_page",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
    from ctxzoo.tasks.text_classification.evaluation import evaluate
    from ctxzoo.tasks.text_classification.explanation import Explanation
    from ctxzoo.tasks.text_classification.explanation_page import explanation_html, write_explanation_page
    from ctxzoo.tasks.text_classification.explanation_picture import draw_explanation
    from ctxzoo.tasks.text_classification.task import SequenceClassificationTask, TextScores
    from ctxzoo.training.classification import label_fields
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "Explanation": "ctxzoo.tasks.text_classification.explanation",
            "SequenceClassificationTask": "ctxzoo.tasks.text_classification.task",
            "TextClassificationDataModule": "ctxzoo.tasks.text_classification.data",
            "TextScores": "ctxzoo.tasks.text_classification.task",
            "draw_explanation": "ctxzoo.tasks.text_classification.explanation_picture",
            "evaluate": "ctxzoo.tasks.text_classification.evaluation",
            "explanation_html": "ctxzoo.tasks.text_classification.explanation_page",
            "label_fields": "ctxzoo.training.classification",
            "write_explanation_page": "ctxzoo.tasks.text_classification.explanation_page",
        },
    )
