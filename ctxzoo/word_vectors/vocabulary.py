"""Vocabularies from data, and the tables of word vectors that belong to them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ctxzoo.data.reading_notes import record_note
from ctxzoo.models.tokenization_word import WordTokenizer
from ctxzoo.word_vectors.small_table import round_to_int8
from ctxzoo.word_vectors.vectors import WordVectors

logger = logging.getLogger(__name__)
SPECIAL_ROWS = 2  # padding and unknown
MOST_UNKNOWN = 0.5  # of different words of the training texts; beyond, given vectors are of another language
FREQUENT = 1e-3  # the frequency at which a word counts half in a mean of vectors


def select_frequent_words(words: Sequence[str], counts: npt.NDArray[np.int32], min_count: int) -> list[str]:
    """Return the words that occur at least `min_count` times, most frequent first."""
    order = np.argsort(-counts, kind="stable")
    return [words[row] for row in order.tolist() if counts[row] >= min_count]


def select_frequent_characters(words: Sequence[str], counts: npt.NDArray[np.int32], min_count: int) -> list[str]:
    """Return the characters that occur `min_count` times or more in running text, by count, ties by code point."""
    total: Counter[str] = Counter()
    for row in np.flatnonzero(counts).tolist():
        for character in words[row]:
            total[character] += int(counts[row])
    return [
        character
        for character, count in sorted(total.items(), key=lambda item: (-item[1], item[0]))
        if count >= min_count
    ]


def has_vectors_of_most_words(vectors: WordVectors, words: Sequence[str], origin: str) -> bool:
    """Return whether given vectors know enough of different words of training texts; where not, a warning says so.

    Args:
        vectors: Given word vectors.
        words: Different words of the texts; those of letters alone count.
        origin: Name of the data in the warning.
    """
    counted = [word for word in words if word.isalpha()]
    unknown = sum(vectors.lookup(word) is None for word in counted)
    if not counted or unknown <= MOST_UNKNOWN * len(counted):
        return True
    logger.warning(
        "%r: the word vectors %r know %d of %d words, too few to help; training starts without them",
        origin,
        vectors.name,
        len(counted) - unknown,
        len(counted),
    )
    return False


def build_table_of_known_ids(num_ids: int, known_ids: torch.Tensor, vectors: torch.Tensor, seed: int) -> torch.Tensor:
    """Return (num_ids, dim) with `vectors` (n, dim) at the ids `known_ids` (n,), padding 0, all other rows drawn.

    They are drawn from a normal distribution around 0 with the standard deviation of the vectors: they should neither
    stand out nor be equal to each other.
    """
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(num_ids, vectors.shape[1], generator=generator) * vectors.std()
    table[0] = 0
    table[known_ids] = vectors
    return table


def build_word_vector_table(
    tokenizer: WordTokenizer, vectors: WordVectors, seed: int, std: float = 0.0
) -> torch.Tensor:
    """Return (num_ids, dim) the vectors of a tokenizer's words.

    Rows of words without a vector, whose number is noted, and of the buckets of n-grams are those of
    `build_table_of_known_ids`.

    Args:
        tokenizer, vectors: Tokenizer whose words number the rows, and word vectors that fill them.
        seed: Seed of the random rows for words without a vector.
        std: Standard deviation to which all entries of the given vectors are scaled by one common factor; 0: unscaled.

    Raises:
        ValueError: no word has a vector; `std` is negative.
    """
    if not std >= 0:
        raise ValueError(f"the standard deviation of word vectors is {std}; expected 0 (as they are) or more")
    words = tokenizer.convert_ids_to_tokens(range(1, len(tokenizer)))
    rows = [vectors.lookup(word) for word in words]
    known_ids = torch.tensor([number for number, row in enumerate(rows, start=1) if row is not None])
    if not len(known_ids):
        raise ValueError(
            f"{vectors.name} has a vector for none of the {len(rows)} words; choose vectors of this language"
        )
    record_note(vectors.name, "words of the model without a vector, whose rows are drawn", len(rows) - len(known_ids))
    known_vectors = vectors.vectors[[row for row in rows if row is not None]]
    if std:
        known_vectors = known_vectors * (std / known_vectors.std())
    return build_table_of_known_ids(tokenizer.num_ids, known_ids, known_vectors, seed)


@dataclass(frozen=True)
class FixedVectors:
    """Given vectors of all words of a model, as `PretrainedEmbedding` keeps them.

    Attributes:
        vectors: (words, dim) int8 vectors by id, 0 for words without one.
        scales: (dim,) factor of each column.
        differences: (trained words, dim) start of what training adds: 0, or for words without a vector a random one.
        mean_weights: (words,) weight of each word in a mean of vectors, `compute_mean_weights`.
    """

    vectors: torch.Tensor
    scales: torch.Tensor
    differences: torch.Tensor
    mean_weights: torch.Tensor


def build_fixed_vectors(
    tokenizer: WordTokenizer, vectors: WordVectors, trained_words: int, seed: int, std: float = 0.0
) -> FixedVectors:
    """Return the given vectors of a tokenizer's words, rounded to int8.

    Args:
        tokenizer, vectors: Tokenizer whose words number the rows, and word vectors that fill them.
        trained_words: Number of first ids whose vectors training changes, padding among them.
        seed: Seed of the random vectors for words without one.
        std: Standard deviation to which all entries of the given vectors are scaled by one common factor; 0: unscaled.
    """
    words = tokenizer.convert_ids_to_tokens(range(1, len(tokenizer)))
    rows = [vectors.lookup(word) for word in words]
    ranks = np.array([-1, *(-1 if row is None else row for row in rows)])
    record_note(vectors.name, "words of the texts without a vector, whose rows are drawn", int((ranks < 0).sum()) - 1)
    values = torch.zeros(len(ranks), vectors.dim)
    values[torch.from_numpy(ranks >= 0)] = vectors.vectors[ranks[ranks >= 0]]
    factor = std / float(vectors.vectors.std()) if std else 1.0
    rounded, scales = round_to_int8(values.numpy())
    generator = torch.Generator().manual_seed(seed)
    differences = factor * float(vectors.vectors.std()) * torch.randn(trained_words, vectors.dim, generator=generator)
    differences[torch.from_numpy(ranks[:trained_words] >= 0)] = 0.0
    weights = torch.from_numpy(compute_mean_weights(ranks, len(vectors))).float()
    return FixedVectors(torch.from_numpy(rounded), factor * torch.from_numpy(scales), differences, weights)


def compute_mean_weights(ranks: npt.NDArray[np.int64], num_ranks: int) -> npt.NDArray[np.float64]:
    """Return the weight of words in a mean of vectors, a / (a + p) for a word of frequency p (Arora et al. 2017).

    Frequencies follow Zipf's law.

    Args:
        ranks: (words,) rank of each word by its frequency, from 0; below 0: no vector, and the weight 0.
        num_ranks: Number of words that have a rank.
    """
    frequency = 1.0 / (np.maximum(ranks, 0) + 10.0) / (1.0 / (np.arange(num_ranks) + 10.0)).sum()
    weights: npt.NDArray[np.float64] = np.where(ranks < 0, 0.0, FREQUENT / (FREQUENT + frequency))
    return weights


def add_special_token_rows(vectors: WordVectors) -> torch.Tensor:
    """Return (2 + words, dim): the vectors below two rows of zeros, for padding and for words without a vector."""
    return torch.cat([torch.zeros(SPECIAL_ROWS, vectors.dim), vectors.vectors])


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
    overwrite_word_vector_columns(model, vectors)


def overwrite_word_vector_columns(model: Any, features: torch.Tensor) -> None:
    """Overwrite the first k numbers of each of a model's word vectors by `features`, (vocab_size, k).

    Raises:
        ValueError: k is above their width, or the rows are others; a table that checkpoints do not hold.
    """
    table = model.get_input_embeddings()
    rows, width = table.weight.shape
    if features.dim() != 2 or features.size(0) != rows or features.size(1) > width:
        raise ValueError(f"features of shape {tuple(features.shape)} do not fit the word table {(rows, width)}")
    if getattr(table, "is_derived_from_config", False):
        raise ValueError(
            "the word table follows from the config's embedding_seed and is not saved; train it "
            "(or set `freeze_embeddings` to false)"
        )
    with torch.no_grad():
        table.weight[:, : features.size(1)] = features
