"""Word vectors from wherever they are, and for other programs: files in the formats of word2vec, and gensim."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ctxzoo.data.files import atomic_file
from ctxzoo.word_vectors.vectors import WordVectors, read_word_vectors

_SEPARATORS = " \n"


def load_word_vectors(
    source: str | Path | Any,
    *,
    keep: Collection[str] | None = None,
    limit: int | None = None,
    fold_digits: bool | None = None,
) -> WordVectors:
    """Load word vectors.

    Args:
        source: Word vectors: a file of GloVe or word2vec text, word2vec binary (also .gz or .zip) or safetensors; a
            checkpoint folder or Hub id of WordEmbedding; or gensim's `KeyedVectors` object.
        keep: Words whose rows, also of their other spellings, are loaded, which saves memory; None: all.
        limit: Number of first rows that are loaded, in addition to those of `keep`; None: no limit.
        fold_digits: Whether the vectors were trained with every digit replaced by 0, so that look-ups do the same;
            default: as a checkpoint's tokenizer does, else no.

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
    return WordVectors.from_tensor(list(keyed.index_to_key), torch.tensor(keyed.vectors, dtype=torch.float32), name)


def save_word2vec_text(vectors: WordVectors, path: str | Path) -> Path:
    """Write a header with rows and dimension, then a word and its numbers on each line; read again they are the same.

    The file is written under a temporary name and renamed.

    Returns:
        The path.

    Raises:
        ValueError: no word, a word that the format cannot hold (empty, with a blank or a line feed), or a number that
            is not finite; the message names the word.
    """
    _check_vectors_are_writable(vectors, path)
    row_format = " ".join(["%.9g"] * vectors.dim)  # nine digits give a 32-bit number back
    with atomic_file(Path(path)) as file:
        file.write(_format_word2vec_header(vectors))
        for word, row in zip(vectors.words, vectors.vectors.numpy(), strict=True):
            file.write(f"{word} {row_format % tuple(row.tolist())}\n".encode())
    return Path(path)


def save_word2vec_binary(vectors: WordVectors, path: str | Path) -> Path:
    """Write a header, then for each row the word, a blank, its little-endian 32-bit floats and a line feed.

    The format is that of word2vec.c. The file is written under a temporary name and renamed.

    Returns:
        The path.

    Raises:
        ValueError: see `save_word2vec_text`.
    """
    _check_vectors_are_writable(vectors, path)
    with atomic_file(Path(path)) as file:
        file.write(_format_word2vec_header(vectors))
        for word, row in zip(vectors.words, vectors.vectors.numpy().astype("<f4"), strict=True):
            file.write(word.encode() + b" " + row.tobytes() + b"\n")
    return Path(path)


def _format_word2vec_header(vectors: WordVectors) -> bytes:
    return f"{len(vectors)} {vectors.dim}\n".encode()


def _check_vectors_are_writable(vectors: WordVectors, path: str | Path) -> None:
    if not len(vectors):
        raise ValueError(f"{path}: there is no word vector to write; expected at least one")
    for word in vectors.words:
        if not word or any(separator in word for separator in _SEPARATORS):
            raise ValueError(
                f"{path}: the word {word!r} cannot be written: it is empty, or has a blank or a line feed, which end a "
                "word in this format; leave it out"
            )
    finite = np.isfinite(vectors.vectors.numpy()).all(axis=1)
    if not finite.all():
        word = vectors.words[int(np.flatnonzero(~finite)[0])]
        raise ValueError(f"{path}: the vector of {word!r} holds a number that is not finite")


def import_gensim() -> Any:
    """Return the package gensim.

    Raises:
        ImportError: it is missing; the message names the extra.
    """
    try:
        import gensim
    except ImportError as error:
        raise ImportError("word2vec needs gensim: pip install gensim") from error
    return gensim
