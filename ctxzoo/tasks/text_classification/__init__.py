"""Text classification."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "Explanation",
    "KernelDensity",
    "SequenceClassificationTask",
    "StartVectors",
    "TextClassificationDataModule",
    "TextScores",
    "TextSplitting",
    "TextVocabulary",
    "WordGates",
    "WordKernels",
    "draw_explanation",
    "draw_kernel_density",
    "draw_token_weights",
    "draw_word_gates",
    "draw_word_kernels",
    "evaluate",
    "explanation_html",
    "kernel_density",
    "label_fields",
    "word_gates",
    "word_kernels",
    "write_explanation_page",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
    from ctxzoo.tasks.text_classification.explanation import Explanation, explanation_html, write_explanation_page
    from ctxzoo.tasks.text_classification.explanation_picture import draw_explanation, draw_token_weights
    from ctxzoo.tasks.text_classification.known_words import TextVocabulary
    from ctxzoo.tasks.text_classification.pictures import (
        KernelDensity,
        WordGates,
        WordKernels,
        draw_kernel_density,
        draw_word_gates,
        draw_word_kernels,
        kernel_density,
        word_gates,
        word_kernels,
    )
    from ctxzoo.tasks.text_classification.splitting import TextSplitting
    from ctxzoo.tasks.text_classification.task import SequenceClassificationTask, TextScores, evaluate
    from ctxzoo.training.classification import label_fields
    from ctxzoo.word_vectors.start_vectors import StartVectors
else:
    __getattr__, __dir__ = lazy_exports(__name__)
