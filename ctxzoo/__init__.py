"""ctxzoo: context-aware text and sequence models for PyTorch Lightning and Hugging Face.

Importing the package registers every architecture with transformers' Auto classes.
"""

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from ctxzoo.models import ARCHITECTURES

__all__ = ["ARCHITECTURES", "__version__"]

__version__: str


def __getattr__(name: str) -> str:
    # Asked for when it is needed: between releases it takes two calls of git.
    if name == "__version__":
        from ctxzoo.version import version

        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
