"""The vectors that a model's table of words starts from: given ones, ones trained on the texts, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ctxzoo.models.tokenization_word import WordTokenizer
from ctxzoo.word_vectors.vectors import WordVectors, read_word_vectors
from ctxzoo.word_vectors.vocabulary import word_vector_table
from ctxzoo.word_vectors.word2vec import word2vec_table


@dataclass(frozen=True, kw_only=True)
class StartVectors:
    """Which vectors the table starts from.

    Attributes:
        word_vectors: file, checkpoint folder or Hub id of pretrained vectors.
        vectors_std: standard deviation to which they are scaled, see `word_vector_table`; 0: as they are.
        word2vec_dim: width of vectors that are trained by word2vec on the texts of `train` alone; 0: none.
        word2vec_epochs: of this training.

    Raises:
        ValueError: a value out of range, or both kinds.
    """

    word_vectors: str | None = None
    vectors_std: float = 0.0
    word2vec_dim: int = 0
    word2vec_epochs: int = 5

    def __post_init__(self) -> None:
        if self.word2vec_dim < 0 or self.word2vec_epochs < 1:
            raise ValueError(
                f"word2vec_dim is {self.word2vec_dim}, word2vec_epochs {self.word2vec_epochs}; expected a dim of 0 (no "
                "word2vec) or more, and 1 epoch or more"
            )
        if self.word2vec_dim and self.word_vectors is not None:
            raise ValueError(
                f"both word_vectors={self.word_vectors!r} and word2vec_dim={self.word2vec_dim}; give one of them"
            )
        if self.vectors_std and self.word_vectors is None:
            raise ValueError(
                f"vectors_std={self.vectors_std} scales word vectors, and none are given; give both or neither"
            )

    @property
    def are_there(self) -> bool:
        """Whether the table starts from vectors of either kind."""
        return self.word_vectors is not None or self.word2vec_dim > 0

    def read(self, words: Sequence[str]) -> WordVectors | None:
        """Return the given vectors of these words; None without a file."""
        return None if self.word_vectors is None else read_word_vectors(self.word_vectors, keep=list(words))

    def table(
        self, tokenizer: WordTokenizer, vectors: WordVectors | None, texts: Sequence[str], seed: int
    ) -> torch.Tensor | None:
        """Return the table (num_ids, dim), or None without vectors; see `word_vector_table` and `word2vec_table`.

        Args:
            tokenizer: whose ids are the rows.
            vectors: what `read` returned.
            texts: of the training rows, which word2vec reads.
            seed: of word2vec, and of rows without a vector.
        """
        if self.word2vec_dim:
            return word2vec_table(list(texts), tokenizer, dim=self.word2vec_dim, epochs=self.word2vec_epochs, seed=seed)
        return None if vectors is None else word_vector_table(tokenizer, vectors, seed, self.vectors_std)
