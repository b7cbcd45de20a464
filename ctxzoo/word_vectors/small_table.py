"""The small table of English word vectors that comes with ctxzoo, by the name "small".

    python -m ctxzoo.word_vectors.small_table --glove glove.6B.100d.txt --own model_cards/attention-cbow-wikipedia

It holds the most frequent words of GloVe 6B (Pennington et al. 2014) with 100 numbers each, rounded to int8. Words that
the file lacks, such as contractions, take the vector of `--own`, mapped by `fill_word_vectors`; words that have none
there either are not in the table. `small_english.NOTICE` says where the numbers are from.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from ctxzoo.data.files import write_atomically
from ctxzoo.word_vectors.rows import RowSelection

SMALL = "small"
SMALL_TABLE = Path(__file__).with_name("small_english.npz")
NUM_WORDS = 38_000


def read_small_table(selection: RowSelection) -> tuple[list[str], torch.Tensor]:
    """Return the words that are selected, most frequent first, and their float32 vectors (rows, 100)."""
    with np.load(SMALL_TABLE) as table:
        words = table["words"].tobytes().decode().split("\n")
        rows = [row for row, word in enumerate(words) if selection.is_row_kept(row, word.encode())]
        vectors = table["vectors"][rows].astype(np.float32) * table["scales"]
    return [words[row] for row in rows], torch.from_numpy(vectors)


def round_to_int8(vectors: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Return vectors (rows, dim) as int8, and the scale (dim,) of each column, whose largest number is 127."""
    largest = np.abs(vectors).max(axis=0)
    scales = np.where(largest > 0, largest / 127, 1.0).astype(np.float32)
    return np.rint(vectors / scales).astype(np.int8), scales


def build_small_table(glove: str, own: str, output: Path, num_words: int = NUM_WORDS) -> None:
    """Write the table of the first `num_words` words of one set of vectors, with gaps filled by another.

    Args:
        glove: File of GloVe vectors, most frequent words first.
        own: Vectors, most frequent words first, that fill in words without digits that `glove` lacks.
        output: File to write.
        num_words: Number of rows of the table.
    """
    from ctxzoo.word_vectors.combination import fill_word_vectors
    from ctxzoo.word_vectors.vectors import read_word_vectors

    base, other = read_word_vectors(glove), read_word_vectors(own)
    filled = fill_word_vectors(base, other, SMALL)
    # Ranks of both count words by their frequency, so that a filled-in word finds its place among the others.
    rank = {word: place for place, word in enumerate(other.words)}
    gaps = [row for row in range(len(base), len(filled)) if not any(map(str.isdigit, filled.words[row]))]
    ranked = [(row, row) for row in range(num_words - len(gaps))] + [(rank[filled.words[row]], row) for row in gaps]
    rows = [row for _, row in sorted(ranked)]
    vectors, scales = round_to_int8(filled.vectors[rows].numpy())
    buffer = io.BytesIO()
    words = np.frombuffer("\n".join(filled.words[row] for row in rows).encode(), dtype=np.uint8)
    np.savez_compressed(buffer, words=words, vectors=vectors, scales=scales)
    write_atomically(output, buffer.getvalue())
    print(f"{output}: {len(rows):,} words, {len(gaps):,} of them from {other.name}; {len(buffer.getvalue()):,} bytes")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glove", required=True, help="file of GloVe vectors")
    parser.add_argument("--own", required=True, help="vectors that fill its gaps")
    parser.add_argument("--output", type=Path, default=SMALL_TABLE, help="file to write")
    options = parser.parse_args(arguments)
    build_small_table(options.glove, options.own, options.output)


if __name__ == "__main__":
    main()
