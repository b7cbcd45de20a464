"""Word vectors in the binary format of word2vec.

A header line with rows and dimension, then for each row the word, one blank, the vector as little-endian 32-bit
floats and, from some writers, a line feed. A word can hold no blank.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from ctxzoo.word_vectors.rows import RowSelection, RowStore, quoted
from ctxzoo.word_vectors.source import checked_header, open_vector_file

_BLOCK_BYTES = 4 << 20
_LONGEST_WORD = 1 << 16
_ROWS_AT_ONCE = 2048


def read_word2vec_binary(
    path: Path, selection: RowSelection, progress: bool
) -> tuple[list[str], npt.NDArray[np.float32]]:
    """Return the words and vectors (rows, dim) of a word2vec binary file.

    Values and words of rows that are not kept are not checked.

    Raises:
        ValueError: the file breaks the format; the message names row and byte.
    """
    with open_vector_file(path, progress) as file:
        name = file.name
        header = file.stream.readline()
        rows, dim = checked_header(name, header)
        store = RowStore(name, "row", dim)
        pending: list[tuple[int, int, bytes]] = []
        block = b""
        position = 0  # in the block
        block_start = len(header)  # in the file

        def read_more() -> bool:
            nonlocal block, block_start, position
            more = file.stream.read(_BLOCK_BYTES)
            block_start += position
            block = block[position:] + more
            position = 0
            file.report()
            return bool(more)

        for row in range(rows):
            if selection.ends_before(row):
                break
            while (blank := block.find(b" ", position, position + _LONGEST_WORD)) < 0:
                here = f"{name}: row {row + 1} (byte {block_start + position})"
                if len(block) - position >= _LONGEST_WORD:
                    raise ValueError(f"{here}: no blank in {_LONGEST_WORD:,} bytes, expected a word and a blank")
                if not read_more():
                    raise ValueError(
                        f"{here}: the file ends within or before the word, expected the {rows} rows that the header "
                        "in line 1 promises; it may be cut short"
                    )
            word = block[position:blank].lstrip(b"\n")
            length = blank + 1 - position
            while len(block) < position + length + 4 * dim:
                if not read_more():
                    found = len(block) - position - length
                    raise ValueError(
                        f"{name}: row {row + 1} (byte {block_start + position}): the file ends after {found} bytes of "
                        f"the vector of {quoted(word)}, expected {4 * dim}; it may be cut short"
                    )
            if selection.keeps(row, word):
                store.add_word(word, row + 1)
                start = position + length
                pending.append((row + 1, block_start + start, block[start : start + 4 * dim]))
                if len(pending) == _ROWS_AT_ONCE:
                    store.add_vectors(_decode(name, pending, dim))
                    pending.clear()
            position += length + 4 * dim
        else:
            while len(block) - position < 2 and read_more():
                pass
            if block[position:].strip(b"\n"):
                raise ValueError(
                    f"{name}: byte {block_start + position}: more bytes after row {rows}, the last that the header in "
                    f"line 1 promises with dimension {dim}"
                )
        if pending:
            store.add_vectors(_decode(name, pending, dim))
        return store.words, store.finish()


def _decode(name: str, rows: list[tuple[int, int, bytes]], dim: int) -> npt.NDArray[np.float32]:
    """Return vectors (rows, dim) of rows given as (row number, byte where the vector starts, its bytes)."""
    values = np.frombuffer(b"".join(raw for _, _, raw in rows), dtype="<f4").reshape(len(rows), dim)
    faults = np.argwhere(~np.isfinite(values))
    if len(faults):
        row, column = (int(index) for index in faults[0])
        number, start, _ = rows[row]
        raise ValueError(
            f"{name}: row {number} (byte {start + 4 * column}): value {column + 1} is {values[row, column]}, "
            "expected a finite number"
        )
    return values
