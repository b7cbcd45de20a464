"""Writing word vectors in the formats of word2vec, which gensim and `read_word_vectors` read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ctxzoo.data.files import atomic_file
from ctxzoo.word_vectors.vectors import WordVectors

_SEPARATORS = " \n"


def save_word2vec_text(vectors: WordVectors, path: str | Path) -> Path:
    """Write a header with rows and dimension, then a word and its numbers on each line; read again they are the same.

    The file is written under a temporary name and renamed.

    Returns:
        The path.

    Raises:
        ValueError: no word, a word that the format cannot hold (empty, with a blank or a line feed), or a number that
            is not finite; the message names the word.
    """
    _check(vectors, path)
    row_format = " ".join(["%.9g"] * vectors.dim)  # nine digits give a 32-bit number back
    with atomic_file(Path(path)) as file:
        file.write(_header(vectors))
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
    _check(vectors, path)
    with atomic_file(Path(path)) as file:
        file.write(_header(vectors))
        for word, row in zip(vectors.words, vectors.vectors.numpy().astype("<f4"), strict=True):
            file.write(word.encode() + b" " + row.tobytes() + b"\n")
    return Path(path)


def _header(vectors: WordVectors) -> bytes:
    return f"{len(vectors)} {vectors.dim}\n".encode()


def _check(vectors: WordVectors, path: str | Path) -> None:
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
