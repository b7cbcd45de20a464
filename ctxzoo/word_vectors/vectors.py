"""Pretrained word vectors, read from the files in which they are usually published, or from a checkpoint of ours."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import torch
from torch.nn import functional as F

from ctxzoo.models.ops_inputs import format_name
from ctxzoo.word_vectors.formats import read_glove_text, read_word2vec_binary, read_word2vec_text
from ctxzoo.word_vectors.rows import RowSelection, list_spellings
from ctxzoo.word_vectors.safetensors_files import find_vector_checkpoint, read_safetensors
from ctxzoo.word_vectors.small_table import SMALL, SMALL_TABLE, read_small_table
from ctxzoo.word_vectors.source import (
    detect_vector_format,
    find_vector_file,
    find_words_file,
    read_first_bytes,
    strip_known_suffixes,
)
from ctxzoo.word_vectors.vector_tables import find_vector_table, fingerprint_vector_table, read_vector_table


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors, in the order of the file.

    Attributes:
        words: Vocabulary, each word once, in the order of the rows.
        vectors: (words, dim) float32 tensor of finite vectors.
        name: Name of the file, without the suffixes for compression, format and precision.
        fingerprint: SHA-256 hash (hexadecimal) of the whole files on disk, whichever rows were kept; for vectors
            without a file, of words and numbers.
        fold_digits: Whether every digit of the words is 0 (2015 is 0000), so that digits of a looked-up word are
            replaced too.
    """

    words: list[str]
    vectors: torch.Tensor
    name: str
    fingerprint: str
    fold_digits: bool = False

    def __post_init__(self) -> None:
        if self.vectors.dim() != 2 or len(self.vectors) != len(self.words):
            raise ValueError(
                f"vectors have shape {tuple(self.vectors.shape)}, expected ({len(self.words)}, dim), one row for each "
                "word"
            )

    @classmethod
    def from_tensor(
        cls, words: list[str], vectors: torch.Tensor, name: str, *, fold_digits: bool = False
    ) -> WordVectors:
        """Return vectors that come from no file; `vectors` (words, dim) in float32."""
        whole = hashlib.sha256("\n".join(words).encode())
        whole.update(vectors.contiguous().numpy().tobytes())
        return cls(words, vectors, name, whole.hexdigest(), fold_digits)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """The width of a vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each word; built at the first use."""
        return {word: row for row, word in enumerate(self.words)}

    def lookup(self, word: str | int) -> int | None:
        """Return the row of the first spelling that has one: as is, lower case, capitalised, upper case; else None.

        With `fold_digits` the same spellings with digits folded come after them. A number is the word that it is
        written as: 10 is "10".

        Raises:
            ValueError: what is neither text nor a whole number.
        """
        for variant in list_spellings(format_name(word, "word"), self.fold_digits):
            row = self.index.get(variant)
            if row is not None:
                return row
        return None

    def vector(self, word: str | int) -> torch.Tensor:
        """Return the (dim,) vector of a word, found in the spellings of `lookup`.

        Raises:
            ValueError: the word has none.
        """
        row = self.lookup(word)
        if row is None:
            raise ValueError(f"{self.name} has no vector of {word!r}; ask for another word")
        return self.vectors[row]

    def most_similar(
        self, words: Sequence[str | int], negative: Sequence[str | int] = (), top: int = 10
    ) -> list[tuple[str, float]]:
        """Return the words closest to the sum of the vectors of `words` less those of `negative`, all of length 1.

        It does as gensim's `most_similar`; the given words are left out, and found in the spellings of `lookup`.

        Returns:
            Words and cosines, the closest first; as many as `top`, or as there are.

        Raises:
            TypeError: one string instead of a sequence of words.
            ValueError: no word at all, words without a vector (all are named), or `top` below 1.
        """
        for name, argument in (("words", words), ("negative", negative)):
            if isinstance(argument, str):
                raise TypeError(
                    f"{name} is the string {argument!r}, expected a sequence of words, for example [{argument!r}]"
                )
        if top < 1:
            raise ValueError(f"top is {top}; expected a number of words above 0")
        if not len(words) and not len(negative):
            raise ValueError("no word to compare with; give at least one")
        rows = {word: row for word in (*words, *negative) if (row := self.lookup(word)) is not None}
        unknown = [word for word in (*words, *negative) if word not in rows]
        if unknown:
            raise ValueError(f"{self.name} has no vector of {', '.join(map(repr, unknown))}; ask for other words")
        of_length_1 = F.normalize(self.vectors, dim=1)
        query = of_length_1[[rows[word] for word in words]].sum(dim=0)
        query = query - of_length_1[[rows[word] for word in negative]].sum(dim=0)
        cosines = of_length_1 @ F.normalize(query, dim=0)
        excluded = list(set(rows.values()))
        cosines[excluded] = -2.0  # below any cosine
        values, places = cosines.topk(min(top, len(self) - len(excluded)))
        return [(self.words[place], value) for place, value in zip(places.tolist(), values.tolist(), strict=True)]


def read_word_vectors(
    path: str | Path,
    *,
    keep: Collection[str] | None = None,
    limit: int | None = None,
    fold_digits: bool | None = None,
    progress: bool = True,
) -> WordVectors:
    """Read word vectors; the format is recognised by the content of the file.

    Formats: GloVe text, word2vec text, word2vec binary, each also within .gz or within a .zip of one file; and
    safetensors, with one tensor `vectors` (rows, dim) beside a file <stem>.words.txt of one word per line, where the
    stem may drop an ending .fp16, .bf16 or .fp32. The ending of the path may be left out if only one file fits.
    A checkpoint of the architecture WordEmbedding, a folder or a Hub id, gives the vectors of its tokenizer's words.
    Vectors that `ctxzoo data get` has built are read by their name, such as "ctxzoo-data/glove.6B.100d", or folder.
    "small" is the table of 38,000 English words that comes with ctxzoo (`ctxzoo.word_vectors.small_table`).

    Args:
        path: Path of a file or checkpoint folder, name of built vectors, or, where there is no such file, a Hub id
            `user/name`.
        keep: Words whose rows are kept, also under their lower-case, capitalised and upper-case spellings (and these
            with digits folded, if `fold_digits`); None: all rows.
        limit: Number of first rows of the file to keep, in addition to those of `keep`; None: no limit. Rows that are
            not kept are barely checked.
        fold_digits: Whether the vectors were trained with every digit replaced by 0, so that look-ups do the same;
            default: as a checkpoint's tokenizer does, else no.
        progress: Whether a progress bar is drawn on stderr, if that is a terminal.

    Raises:
        FileNotFoundError: the file, or the list of words beside it, is missing; the Hub does not have it either.
        IsADirectoryError: the path is a folder without a checkpoint.
        TypeError: `keep` is one string.
        ValueError: the file breaks its format, several files fit, a checkpoint is of another architecture, or `limit`
            is negative.
    """
    if str(path) == SMALL:
        words, vectors = read_small_table(RowSelection(keep, limit, bool(fold_digits)))
        return WordVectors(words, vectors, SMALL, _fingerprint_files([SMALL_TABLE]), bool(fold_digits))
    table = find_vector_table(path)
    if table is not None:
        folded = bool(fold_digits)
        words, vectors = read_vector_table(table, RowSelection(keep, limit, folded))
        return WordVectors(words, vectors, table.resolve().parent.name, fingerprint_vector_table(table), folded)
    checkpoint = find_vector_checkpoint(path)
    if checkpoint is not None:
        folded = checkpoint.fold_digits if fold_digits is None else fold_digits
        words, vectors = checkpoint.read(RowSelection(keep, limit, folded))
        return WordVectors(words, vectors, checkpoint.name, _fingerprint_files(checkpoint.files), folded)
    folded = bool(fold_digits)
    selection = RowSelection(keep, limit, folded)
    file = find_vector_file(Path(path))
    name, head = read_first_bytes(file)
    vector_format = detect_vector_format(name, head)
    files = [file]
    if vector_format == "safetensors":
        files.append(find_words_file(file))
        words, vectors = read_safetensors(file, files[1], selection)
    else:
        if vector_format == "glove":
            words, matrix = read_glove_text(file, head, selection, progress)
        elif vector_format == "word2vec text":
            words, matrix = read_word2vec_text(file, selection, progress)
        else:
            words, matrix = read_word2vec_binary(file, selection, progress)
        vectors = torch.from_numpy(matrix)
    return WordVectors(words, vectors, strip_known_suffixes(file), _fingerprint_files(files), folded)


def fingerprint_word_vectors(path: str | Path) -> str:
    """Return the fingerprint of the vectors that `read_word_vectors` reads there, without reading them as such.

    Raises:
        FileNotFoundError, IsADirectoryError, ValueError: see `read_word_vectors`.
    """
    if str(path) == SMALL:
        return _fingerprint_files([SMALL_TABLE])
    table = find_vector_table(path)
    if table is not None:
        return fingerprint_vector_table(table)
    checkpoint = find_vector_checkpoint(path)
    if checkpoint is not None:
        return _fingerprint_files(checkpoint.files)
    file = find_vector_file(Path(path))
    is_safetensors = detect_vector_format(*read_first_bytes(file)) == "safetensors"
    return _fingerprint_files([file, find_words_file(file)] if is_safetensors else [file])


def _fingerprint_files(files: Sequence[Path]) -> str:
    """Return the SHA-256 over the SHA-256 of each file, so that a byte moved from one file to the next changes it."""
    digest = hashlib.sha256()
    for path in files:
        stat = path.stat()
        digest.update(_hash_file(path, stat.st_size, stat.st_mtime_ns))
    return digest.hexdigest()


def get_word_vectors_name(path: str | Path) -> str:
    """Return the name of the vectors that `read_word_vectors` reads there, without reading them; it raises as that."""
    if str(path) == SMALL:
        return SMALL
    table = find_vector_table(path)
    if table is not None:
        return table.resolve().parent.name
    checkpoint = find_vector_checkpoint(path)
    return strip_known_suffixes(find_vector_file(Path(path))) if checkpoint is None else checkpoint.name


@lru_cache  # the folds of a cross-validation read the same files
def _hash_file(path: Path, size: int, modified_ns: int) -> bytes:
    """Return the SHA-256 of a file; its size and time of change are arguments so that a changed file is read again."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.digest()
