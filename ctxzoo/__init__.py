"""ctxzoo: context-aware text and sequence models for PyTorch Lightning and Hugging Face.

Importing the package registers every architecture with transformers' Auto classes.
"""

from ctxzoo.models import ARCHITECTURES

__version__ = "0.1.0"

__all__ = ["ARCHITECTURES", "__version__"]
