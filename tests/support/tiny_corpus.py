"""A small corpus in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ctxzoo.tasks.word_embeddings.corpus import Corpus


def tiny_corpus(sentences: Sequence[Sequence[int]], vocabulary: int | None = None) -> Corpus:
    """Return the corpus of sentences of rows; words that do not occur count once, so that noise can be drawn."""
    rows = np.array([row for sentence in sentences for row in sentence], np.int32)
    counts = np.bincount(rows, minlength=vocabulary or 0).clip(min=1)
    words = [f"w{row}" for row in range(len(counts))]
    corpus = Corpus(Path(), words, counts, len(rows), "tiny")
    pointers = np.cumsum([0, *(len(sentence) for sentence in sentences)])
    vars(corpus).update(ids=rows, pointers=pointers)  # in place of what is mapped
    return corpus
