"""Word vectors that `ctxzoo data get` has built: a Parquet file of the columns `word` and `vector`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from ctxzoo.data.files import is_ctxzoo_dataset_name
from ctxzoo.data.sources import get_data_folder
from ctxzoo.word_vectors.rows import RowSelection, RowStore
from ctxzoo.word_vectors.safetensors_files import to_finite_float32

TABLE = "train.parquet"


def find_vector_table(path: str | Path) -> Path | None:
    """Return the table of a built dataset of vectors, by its name or folder; None where the path is anything else.

    Raises:
        FileNotFoundError: a name of the catalogue that was not built.
    """
    folder = Path(path)
    if not folder.exists() and is_ctxzoo_dataset_name(str(path)):
        folder = get_data_folder() / path
        if not folder.is_dir():
            raise FileNotFoundError(
                f"{path}: no such word vectors in {get_data_folder()}; `ctxzoo data get {path}` builds them"
            )
    return folder / TABLE if (folder / TABLE).is_file() else None


def read_vector_table(path: Path, selection: RowSelection) -> tuple[list[str], torch.Tensor]:
    """Return words and float32 vectors (rows, dim).

    Raises:
        ValueError: the file is damaged or has other columns; vectors differ in width; a number is not finite.
    """
    store: RowStore | None = None
    kept_rows: list[int] = []
    try:
        table = pq.ParquetFile(path)
        if set(table.schema_arrow.names) != {"word", "vector"}:
            raise ValueError(f"{path} has the columns {table.schema_arrow.names}; expected word and vector")
        for row, words, vectors in _iterate_row_blocks(table, path):
            store = store or RowStore(str(path), "row", vectors.shape[1])
            block_rows = [place for place, word in enumerate(words) if selection.is_row_kept(row + place, word)]
            for place in block_rows:
                store.add_word(words[place], row + place + 1)
            store.add_vectors(vectors[block_rows])
            kept_rows += [row + place for place in block_rows]
    except pa.ArrowException as error:
        raise ValueError(f"{path}: is no whole Parquet file ({error}); get it again") from error
    if store is None:
        raise ValueError(f"{path}: no rows; expected words and their vectors")
    return store.words, to_finite_float32(path, torch.from_numpy(store.build_matrix()), store.words, kept_rows)


def fingerprint_vector_table(path: Path) -> str:
    """Return the SHA-256 (hexadecimal) of words and numbers, which no version of the writer of Parquet changes."""
    known = path.stat()
    return _fingerprint_words_and_numbers(path, known.st_size, known.st_mtime_ns)


@lru_cache  # the folds of a cross-validation read the same table
def _fingerprint_words_and_numbers(path: Path, size: int, modified_ns: int) -> str:
    words_seen, numbers = hashlib.sha256(), hashlib.sha256()
    for _, words, vectors in _iterate_row_blocks(pq.ParquetFile(path), path):
        words_seen.update(b"".join(word + b"\n" for word in words))
        numbers.update(np.ascontiguousarray(vectors).data)
    return hashlib.sha256(words_seen.digest() + numbers.digest()).hexdigest()


def _iterate_row_blocks(
    table: pq.ParquetFile, path: Path
) -> Iterator[tuple[int, list[bytes], npt.NDArray[np.float32]]]:
    """Yield the number of the first row, the words and the vectors (rows, dim) of one block after another."""
    row, dim = 0, None
    for block in table.iter_batches():
        words = block.column("word").cast(pa.binary()).to_pylist()
        lists = block.column("vector")
        widths = lists.value_lengths().to_numpy(zero_copy_only=False)
        dim = dim or int(widths[0])
        if None in words or lists.null_count or (widths != dim).any():
            raise ValueError(f"{path}: rows {row + 1} to {row + len(words)}: expected a word and {dim} numbers in each")
        yield row, words, lists.flatten().cast(pa.float32()).to_numpy().reshape(len(words), dim)
        row += len(words)
