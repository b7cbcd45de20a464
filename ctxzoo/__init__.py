"""ctxzoo: context-aware text and sequence models for PyTorch Lightning and Hugging Face.

Importing the package registers every architecture with transformers' Auto classes. Examples are in docs/api.md.
"""

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from typing import TYPE_CHECKING, Any

from ctxzoo.lazy_exports import lazy_exports
from ctxzoo.models import ARCHITECTURES

__all__ = [
    "ARCHITECTURES",
    "BatchPredictor",
    "BetaLSTM",
    "__version__",
    "attention_divergence",
    "explain",
    "load_with_attention",
    "load_word_vectors",
    "pipeline",
    "train",
    "use_attention",
]

__version__: str
"""Release, or between releases the commit."""

if TYPE_CHECKING:
    from ctxzoo.attention_interface import attention_divergence, load_with_attention, use_attention
    from ctxzoo.checkpoints import explain, pipeline, train
    from ctxzoo.models.layers_beta_lstm import BetaLSTM
    from ctxzoo.serving.batch_predictor import BatchPredictor
    from ctxzoo.word_vectors.exchange import load_word_vectors
else:
    _exported, __dir__ = lazy_exports(__name__)

    def __getattr__(name: str) -> Any:
        """Return the version, or import the exported name that is asked for."""
        # Asked for when it is needed: between releases it takes two calls of git.
        if name == "__version__":
            from ctxzoo.version import version

            return version()
        return _exported(name)
