"""Word embeddings: training and evaluating them."""

from typing import TYPE_CHECKING

from ctxzoo.lazy_exports import lazy_exports

__all__ = [
    "CorpusSource",
    "WindowBatches",
    "WindowDataModule",
    "WordEmbeddingTraining",
    "WordPredictionTask",
    "evaluate",
    "load_corpus",
]

if TYPE_CHECKING:
    from ctxzoo.tasks.word_embeddings.corpus import load_corpus
    from ctxzoo.tasks.word_embeddings.corpus_lines import CorpusSource
    from ctxzoo.tasks.word_embeddings.data import WindowDataModule
    from ctxzoo.tasks.word_embeddings.evaluation import evaluate
    from ctxzoo.tasks.word_embeddings.settings import WordEmbeddingTraining
    from ctxzoo.tasks.word_embeddings.task import WordPredictionTask
    from ctxzoo.tasks.word_embeddings.window_batches import WindowBatches
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "CorpusSource": "ctxzoo.tasks.word_embeddings.corpus_lines",
            "WindowBatches": "ctxzoo.tasks.word_embeddings.window_batches",
            "WindowDataModule": "ctxzoo.tasks.word_embeddings.data",
            "WordEmbeddingTraining": "ctxzoo.tasks.word_embeddings.settings",
            "WordPredictionTask": "ctxzoo.tasks.word_embeddings.task",
            "evaluate": "ctxzoo.tasks.word_embeddings.evaluation",
            "load_corpus": "ctxzoo.tasks.word_embeddings.corpus",
        },
    )
