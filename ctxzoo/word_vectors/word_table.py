"""Numbers put into a model's table of word vectors before it is trained."""

from __future__ import annotations

from typing import Any

import torch


def set_word_vectors(model: Any, vectors: torch.Tensor | None) -> None:
    """Put pretrained vectors (vocab_size, d) into the word table of a model; None leaves it as it is.

    Raises:
        ValueError: the shape is not that of the table; a table that checkpoints do not hold.
    """
    if vectors is None:
        return
    table = model.get_input_embeddings()
    if vectors.shape != table.weight.shape:
        raise ValueError(
            f"vectors of shape {tuple(vectors.shape)} do not fit the word table {tuple(table.weight.shape)}"
        )
    set_word_features(model, vectors)


def set_word_features(model: Any, features: torch.Tensor) -> None:
    """Put numbers (vocab_size, k) into the first k columns of a model's word vectors.

    Raises:
        ValueError: k is above their width, or the rows are others; a table that checkpoints do not hold.
    """
    table = model.get_input_embeddings()
    rows, width = table.weight.shape
    if features.dim() != 2 or features.size(0) != rows or features.size(1) > width:
        raise ValueError(f"features of shape {tuple(features.shape)} do not fit the word table {(rows, width)}")
    if getattr(table, "follows_from_config", False):
        raise ValueError(
            "the word table follows from the config's embedding_seed and is not saved; train it "
            "(or set `freeze_embeddings` to false)"
        )
    with torch.no_grad():
        table.weight[:, : features.size(1)] = features
