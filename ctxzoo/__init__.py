"""ctxzoo: context-aware text and sequence models for PyTorch Lightning and Hugging Face.

Importing the package registers every architecture with transformers' Auto classes. What the names do is in docs/api.md.
"""

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from typing import TYPE_CHECKING, Any

from ctxzoo.lazy_exports import lazy_exports
from ctxzoo.models import ARCHITECTURES

__all__ = ["ARCHITECTURES", "BetaLSTM", "__version__", "explain", "load_word_vectors", "pipeline"]

__version__: str

if TYPE_CHECKING:
    from ctxzoo.checkpoints import explain, pipeline
    from ctxzoo.models.layers_beta_lstm import BetaLSTM
    from ctxzoo.word_vectors.exchange import load_word_vectors
else:
    _exported, __dir__ = lazy_exports(
        __name__,
        {
            "BetaLSTM": "ctxzoo.models.layers_beta_lstm",
            "explain": "ctxzoo.checkpoints",
            "load_word_vectors": "ctxzoo.word_vectors.exchange",
            "pipeline": "ctxzoo.checkpoints",
        },
    )

    def __getattr__(name: str) -> Any:
        # Asked for when it is needed: between releases it takes two calls of git.
        if name == "__version__":
            from ctxzoo.version import version

            return version()
        return _exported(name)
