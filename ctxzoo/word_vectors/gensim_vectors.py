"""Word vectors to and from gensim."""

from __future__ import annotations

from typing import Any

import torch

from ctxzoo.word_vectors.vectors import WordVectors
from ctxzoo.word_vectors.word2vec import import_gensim


def to_keyed_vectors(vectors: WordVectors) -> Any:
    """Return gensim's `KeyedVectors` of the same words, in their order.

    Raises:
        ImportError: gensim is missing.
    """
    keyed = import_gensim().models.KeyedVectors(vectors.dim)
    keyed.add_vectors(vectors.words, vectors.vectors.numpy())
    return keyed


def from_keyed_vectors(keyed: Any, name: str = "keyed_vectors") -> WordVectors:
    """Return the word vectors of gensim's `KeyedVectors` under the name `name`."""
    return WordVectors.in_memory(list(keyed.index_to_key), torch.tensor(keyed.vectors, dtype=torch.float32), name)
