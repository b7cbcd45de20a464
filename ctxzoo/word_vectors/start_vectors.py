"""The vectors that a model's table of words starts from: given ones, ones trained on the texts, or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from ctxzoo.data.files import build_cached_folder, default_cache_folder, hash_strings
from ctxzoo.data.text_encoding import EncodedTexts, encode_texts
from ctxzoo.models.tokenization_word import WordTokenizer
from ctxzoo.word_vectors.exchange import import_gensim
from ctxzoo.word_vectors.vectors import WordVectors, read_word_vectors
from ctxzoo.word_vectors.vocabulary import build_table_of_known_ids, build_word_vector_table

WINDOW = 5
NEGATIVE_SAMPLES = 5
MODEL_FILE = "word2vec.safetensors"


@dataclass(frozen=True, kw_only=True)
class StartVectors:
    """Which vectors the table starts from.

    Attributes:
        word_vectors: Pretrained word vectors that initialize the embeddings: a file, checkpoint folder or Hub id; None:
            none.
        vectors_std: Standard deviation to which the vectors are scaled; 0: unscaled; as in `build_word_vector_table`.
        vector_words: Number of words of the vectors, the first ones, that the model knows beside those of the training
            texts; 0: those of the training texts alone, whose vectors only start from them.
        word2vec_dim: Dimension of word2vec vectors trained on the training split's texts; 0: none.
        word2vec_epochs: Number of word2vec's passes over the texts.

    Raises:
        ValueError: a value out of range, or both kinds.
    """

    word_vectors: str | None = None
    vectors_std: float = 0.0
    vector_words: int = 0
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
        if self.vector_words < 0 or (self.vector_words and self.word_vectors is None):
            raise ValueError(
                f"vector_words={self.vector_words} with word_vectors={self.word_vectors!r}; expected 0, or a number of "
                "words of given vectors"
            )
        if self.vectors_std and self.word_vectors is None:
            raise ValueError(
                f"vectors_std={self.vectors_std} scales word vectors, and none are given; give both or neither"
            )

    @property
    def has_vectors(self) -> bool:
        """Whether the table starts from vectors of either kind."""
        return self.word_vectors is not None or self.word2vec_dim > 0

    def read(self, words: Sequence[str]) -> WordVectors | None:
        """Return the given vectors of these words, and of the first `vector_words`; None without a file."""
        if self.word_vectors is None:
            return None
        return read_word_vectors(self.word_vectors, keep=list(words), limit=self.vector_words or None)

    def build_embedding_table(
        self, tokenizer: WordTokenizer, vectors: WordVectors | None, texts: Sequence[str], seed: int
    ) -> torch.Tensor | None:
        """Return the table (num_ids, dim), None without any; by `build_word_vector_table`, `train_word2vec_table`.

        Args:
            tokenizer: Tokenizer whose ids number the rows of the table.
            vectors: Word vectors that `read` returned; None: none.
            texts: Texts of the training split, on which word2vec is trained.
            seed: Seed of word2vec, and of random rows for words without a vector.
        """
        if self.word2vec_dim:
            return train_word2vec_table(
                list(texts), tokenizer, dim=self.word2vec_dim, epochs=self.word2vec_epochs, seed=seed
            )
        return None if vectors is None else build_word_vector_table(tokenizer, vectors, seed, self.vectors_std)


def train_word2vec_table(
    texts: Sequence[str], tokenizer: WordTokenizer, *, dim: int, epochs: int, seed: int, cache: Path | None = None
) -> torch.Tensor:
    """Return (num_ids, dim) the vectors of the tokenizer's words, trained on `texts`: CBOW, window 5, 5 noise words.

    Words that the tokenizer does not know are removed before windows are laid. One thread: the same arguments give the
    same table, bit for bit on one kind of machine with the same versions of the libraries. Rows without a vector (words
    that are not in the texts, buckets of n-grams) are those of `build_table_of_known_ids`.

    Args:
        texts: Training texts for word2vec.
        tokenizer: Tokenizer whose words get vectors.
        dim: Dimension of a vector, 1 or more.
        epochs: Number of passes over the texts, 1 or more.
        seed: Seed of the training, and of random vectors for words that get none.
        cache: Folder in which trained vectors are cached; default: that of `default_cache_folder()`.

    Raises:
        ImportError: gensim is missing.
        ValueError: no text has a word that the tokenizer knows.
    """
    gensim = import_gensim()
    setting = f"dim {dim}, epochs {epochs}, seed {seed}, gensim {gensim.__version__}"
    key = hash_strings([setting, tokenizer.backend_tokenizer.to_str(), *texts])

    def train(folder: Path) -> None:
        words = _KnownWords(encode_texts(tokenizer, list(texts), None), len(tokenizer))
        save_file(_train_word2vec(gensim, words, dim, epochs, seed), folder / MODEL_FILE)

    folder = build_cached_folder((cache or default_cache_folder()) / f"word2vec-{key}", train)
    trained = load_file(folder / MODEL_FILE)
    return build_table_of_known_ids(tokenizer.num_ids, trained["ids"], trained["vectors"], seed)


class _KnownWords:
    """The known words of each text, as gensim reads them: several times, and as text: it takes integers for rows."""

    def __init__(self, texts: EncodedTexts, first_bucket: int) -> None:
        self._texts = texts
        self._first_bucket = first_bucket

    def __iter__(self) -> Iterator[list[str]]:
        for begin, end in zip(self._texts.pointers[:-1], self._texts.pointers[1:], strict=True):
            ids = self._texts.ids[begin:end]
            yield [str(index) for index in ids[ids < self._first_bucket].tolist()]


def _train_word2vec(gensim: Any, words: _KnownWords, dim: int, epochs: int, seed: int) -> dict[str, torch.Tensor]:
    """Return `ids` (n,) of the words that occur, and their `vectors` (n, dim)."""
    if not any(words):
        raise ValueError("no text has a known word to train word2vec on; lower min_word_count")
    model = gensim.models.Word2Vec(
        words,
        vector_size=dim,
        epochs=epochs,
        seed=seed,
        window=WINDOW,
        negative=NEGATIVE_SAMPLES,
        sg=0,
        min_count=1,  # the tokenizer has chosen already
        workers=1,
    )
    ids = torch.tensor([int(word) for word in model.wv.index_to_key])
    return {"ids": ids, "vectors": torch.from_numpy(model.wv.vectors)}
