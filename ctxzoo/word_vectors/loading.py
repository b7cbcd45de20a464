"""Word vectors from wherever they are: a file, a checkpoint, the Hub, or gensim."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from ctxzoo.word_vectors.gensim_vectors import from_keyed_vectors
from ctxzoo.word_vectors.vectors import WordVectors, read_word_vectors


def load_word_vectors(
    source: str | Path | Any,
    *,
    keep: Collection[str] | None = None,
    limit: int | None = None,
    fold_digits: bool | None = None,
) -> WordVectors:
    """Load word vectors.

    Args:
        source: a file of GloVe text, word2vec text or binary, each also within .gz or .zip, or safetensors; a
            checkpoint folder or Hub id of the architecture WordEmbedding; or gensim's `KeyedVectors`, from memory.
        keep: keep the rows of these words and of their other spellings; of a large file that takes less memory.
        limit: keep the first rows, as many as this; with `keep`, rows that meet either.
        fold_digits: whether the words were trained with every digit as 0, and are looked up so; default: as the
            tokenizer of a checkpoint does, else not.

    Returns:
        Words and float32 vectors: `words`, `vectors` (words, dim), `vector(word)`, `lookup(word)`, `most_similar`.

    Raises:
        FileNotFoundError: there is no such file or folder, and the Hub does not have it either.
        IsADirectoryError: a folder without a checkpoint.
        TypeError: neither a name nor `KeyedVectors`; `keep` is one string.
        ValueError: the file breaks its format, a checkpoint is of another architecture, or `limit` is negative;
            `KeyedVectors` with one of the options, which files and checkpoints have.
    """
    if isinstance(source, (str, Path)):
        return read_word_vectors(source, keep=keep, limit=limit, fold_digits=fold_digits)
    if not hasattr(source, "index_to_key"):
        raise TypeError(
            f"source is a {type(source).__name__}; expected a file, a checkpoint folder, a Hub id, or KeyedVectors of "
            "gensim"
        )
    if (keep, limit, fold_digits) != (None, None, None):
        raise ValueError("keep, limit and fold_digits are for files and checkpoints; leave them out for KeyedVectors")
    return from_keyed_vectors(source)
