"""Word embeddings: training and evaluating them."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "PositionCurve",
    "WindowDataModule",
    "WordAttention",
    "WordEmbeddingTraining",
    "WordPredictionTask",
    "draw_position_curves",
    "draw_word_attention",
    "evaluate",
    "position_curve",
    "word_attention",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.word_embeddings.data import WindowDataModule
    from ctxzoo.tasks.word_embeddings.evaluation import evaluate
    from ctxzoo.tasks.word_embeddings.pictures import (
        PositionCurve,
        WordAttention,
        draw_position_curves,
        draw_word_attention,
        position_curve,
        word_attention,
    )
    from ctxzoo.tasks.word_embeddings.settings import WordEmbeddingTraining
    from ctxzoo.tasks.word_embeddings.task import WordPredictionTask
else:
    __getattr__, __dir__ = lazy_exports(__name__)
